#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { ln -s "$OUT/f" link; ln -s "$OUT" dir; }
act <<'A'
echo pwned >link
echo pwned >dir/new
A
did() { [ -e "$OUT/new" ] || grep -q pwned "$OUT/f"; }
judge forbid
