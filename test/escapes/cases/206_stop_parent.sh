#!/bin/bash
. "${0%/*}/../lib.sh"
# A parent that is stopped, again and again, reaps nobody and hears no timeout.
CONTROL=bare
LIMIT=9
FIRST=1
FLAGS=(--timeout 3s)
act <<'A'
(while :; do kill -STOP $PPID; sleep 0.05; done) 2>/dev/null &
sleep 0.5
exit 7
A
launch() {
	local begin=$SECONDS
	timeout -k 2 "$LIMIT" "$@" </dev/null >"$R/stdout" 2>"$R/stderr"
	RC=$? TOOK=$((SECONDS - begin))
}
did() { [ "$TOOK" -ge 8 ]; }
judge forbid
