#!/bin/bash
. "${0%/*}/../lib.sh"
FIRST=1
act <<'A'
sleep 0.2 # what was said is passed on
read -r _ _ _ harness _ </proc/$PPID/stat
for p in $harness; do [ "$p" -gt 1 ] && kill -TERM "$p" && kill -9 "$p"; done
sleep 0.3
A
AFTER="exit 7"
did() { [ "$RC" != 7 ]; }
judge forbid
