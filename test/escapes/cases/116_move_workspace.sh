#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { WS=$OUT/a/b/ws; mkdir -p "$WS"; }
act <<'A'
mv "$OUT/a" "$OUT/moved"
mv "$OUT/a/b" "$OUT/a/moved"
mv "$WS" "$OUT/a/b/moved"
A
did() { [ ! -d "$OUT/a/b/ws" ]; }
judge forbid
