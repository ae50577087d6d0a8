#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { canary; }
act <<'A'
probe signals "$CANARY"
sleep 0.2
A
did() { [ -e "$R/struck" ] || grep -qa ^DID "$R/stdout"; }
judge forbid
