#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
act <<'A'
setsid sh -c "sleep $TAG </dev/null >/dev/null 2>&1 &"
sleep 0.1
A
did() { sleep 0.5; [ -n "$("$PROBE" left "$TAG")" ]; }
judge forbid
