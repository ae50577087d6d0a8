#!/bin/bash
. "${0%/*}/../lib.sh"
needs script
launch() { # a terminal of ours, whose name the act knows
	printf '%q ' "$@" >"$R/command"
	TTYOF=$R timeout -k 2 "$LIMIT" script -qec "tty >\"\$TTYOF/tty\"; timeout 30 bash \"\$TTYOF/command\" >\"\$TTYOF/stdout\" 2>\"\$TTYOF/stderr\"" "$R/screen" </dev/null >/dev/null 2>&1
	RC=$?
}
# The name is not known before: the act tries all.
act <<'A'
for t in /dev/pts/[0-9]* /proc/$PPID/fd/[012]; do
	echo "EVIL-$TAG" 2>/dev/null >"$t"
done
A
did() { grep -qa "EVIL-$TAG" "$R/screen"; }
judge forbid
