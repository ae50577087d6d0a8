#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { WS=$OUT/ws; mkdir "$WS"; }
act <<'A'
mv "$OUT/f" "$OUT/g"
mv "$OUT/secret" taken
echo x >made && mv made "$OUT/made"
A
did() { [ ! -e "$OUT/f" ] || [ ! -e "$OUT/secret" ] || [ -e "$OUT/made" ]; }
judge forbid
