#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { mkdir -p "$OUT/real"; rmdir "$WS"; ln -s "$OUT/real" "$WS"; }
act <<'A'
echo x >../new
echo x >"$OUT/new"
ln -sfn "$OUT" "$WS"
A
did() { [ -e "$OUT/new" ] || [ "$(readlink "$WS")" != "$OUT/real" ]; }
judge forbid
