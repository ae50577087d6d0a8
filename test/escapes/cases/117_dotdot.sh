#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { WS=$OUT/a/b/ws; mkdir -p "$WS"; }
act <<'A'
echo x >../../../new
(cd .. && cd .. && cd .. && echo x >new)
mkdir -p d/e && cd d/e && mv ../e ../../e2 2>/dev/null && cd .. && echo x >../../../../new
ln -s ../../../f up && echo pwned >up
A
did() { [ -e "$OUT/new" ] || [ "$(cat "$OUT/f")" != data ]; }
judge forbid
