#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { mkdir "$OUT/empty"; }
act <<'A'
rm -f "$OUT/f"
rmdir "$OUT/empty"
A
did() { [ ! -e "$OUT/f" ] || [ ! -e "$OUT/empty" ]; }
judge forbid
