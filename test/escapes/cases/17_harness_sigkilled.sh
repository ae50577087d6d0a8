#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
FIRST=1
act <<'A'
setsid sleep "$TAG" &
sleep "$TAG"
A
launch() {
	"$@" </dev/null >"$R/stdout" 2>"$R/stderr" &
	local p=$! i
	for i in $(seq 100); do [ "$(pgrep -fc "^sleep $TAG")" -ge 2 ] && break; sleep 0.05; done
	kill -9 $p
	wait $p
	RC=$?
}
needs pgrep
did() { sleep 1; [ -n "$("$PROBE" left "$TAG")" ]; }
judge forbid
