#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
act <<'A'
setsid sleep "$TAG" & echo hi
A
launch() {
	local begin=$SECONDS
	timeout -k 2 "$LIMIT" "$@" </dev/null 2>"$R/stderr" | timeout 6 cat >"$R/stdout"
	RC=${PIPESTATUS[0]} TOOK=$((SECONDS - begin))
}
did() { [ "$TOOK" -ge 5 ] || [ -n "$("$PROBE" left "$TAG")" ] || ! grep -qx hi "$R/stdout"; }
judge forbid
