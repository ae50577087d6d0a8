#!/bin/bash
. "${0%/*}/../lib.sh"
# The terminal stays silent: who waits for an answer waits for the limit.
CONTROL=bare
needs script
act <<'A'
timeout 3 head -c1 </dev/tty
case $? in 124 | 0) echo DID ;; esac
A
launch() {
	printf '%q ' "$@" >"$R/command"
	TTYOF=$R timeout -k 2 30 script -qec "bash \"\$TTYOF/command\" >\"\$TTYOF/stdout\" 2>\"\$TTYOF/stderr\"" /dev/null < <(sleep 4) >/dev/null 2>&1
	RC=$?
}
judge forbid
