#!/bin/bash
. "${0%/*}/../lib.sh"
needs script root
MAYBE="TIOCSTI needs the terminal to be one's own"
launch() {
	printf '%q ' "$@" >"$R/command"
	TTYOF=$R timeout -k 2 "$LIMIT" script -qec "timeout 30 bash \"\$TTYOF/command\" >\"\$TTYOF/stdout\" 2>\"\$TTYOF/stderr\"" /dev/null </dev/null >/dev/null 2>&1
	RC=$?
}
act <<'A'
for t in /dev/tty /dev/pts/[0-9]* /dev/console; do probe tiocsti "$t"; done
A
did() { grep -qa '^DID TIOCSTI' "$R/stdout"; }
judge forbid
