#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
sleep 0.2 # what was said is passed on
kill -9 $PPID
A
AFTER="exit 7"
did() { [ "$RC" != 7 ]; }
FIRST=1
judge forbid
