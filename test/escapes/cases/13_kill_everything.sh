#!/bin/bash
. "${0%/*}/../lib.sh"
# Only what cannot even be asked about a canary kills everything: where the sandbox
# fails, the canary is all that is hit. The control kills the canary alone.
prepare() { canary; }
FIRST=1
act <<'A'
if kill -0 "$CANARY" 2>/dev/null; then kill -9 "$CANARY"; echo DID
else
	sleep 86400.5 &
	child=$!
	kill -9 -1
	sleep 0.1
	kill -0 $child 2>/dev/null && [ "$(cut -d' ' -f3 /proc/$child/stat)" != Z ] && echo "nobody was killed"
fi
A
did() { ! kill -0 "$CANARY" 2>/dev/null; }
judge forbid
