#!/bin/bash
. "$(dirname "$0")/../lib.sh"
act <<'A'
kill -9 $PPID
A
AFTER="exit 7"
did() { [ "$RC" != 7 ]; }
FIRST=1
judge forbid
