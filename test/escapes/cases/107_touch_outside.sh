#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
touch -d 1999-01-01 "$OUT/f"
A
did() { [ "$(stat -c %Y "$OUT/f")" -lt 1000000000 ]; }
judge forbid
