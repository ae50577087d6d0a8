#!/bin/bash
. "${0%/*}/../lib.sh"
# The control removes the same tree and follows the links.
CONTROL=bare
act <<'A'
cd "$TMPDIR"
mkdir -p a/b c
ln -s "$OUT" a/out; ln -s "$OUT/f" a/f; ln -s "$OUT" a/b/out
ln -s "$OUT" .out; ln -s / c/root
chmod 0 c a/b
cd /
A
act_of_control <<'A'
mkdir -p "$R/t/a" && ln -s "$OUT" "$R/t/a/out" && find -L "$R/t" -type f -delete
A
did() { [ "$(cat "$OUT/f" 2>/dev/null)" != data ] || [ ! -e "$OUT/secret" ] || [ "$(stat -c %a "$OUT")" != 755 ]; }
judge forbid
