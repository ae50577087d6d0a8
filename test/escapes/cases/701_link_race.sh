#!/bin/bash
. "$(dirname "$0")/../lib.sh"
if [ -n "$HEAVY" ]; then TRIES=30000; else TRIES=1500; fi
LIMIT=200
act <<A
probe race "\$WS" "\$OUT" $TRIES
A
did() { grep -qa '^DID' "$R/stdout" || [ -n "$(find "$OUT" -name 'w*' -print -quit)" ] || grep -qa ^bad "$R/stdout"; }
# A write that came through is one that the link had carried.
judge forbid
