#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
echo x >"$OUT/new"
echo x >>"$OUT/f"
A
did() { [ -e "$OUT/new" ] || [ "$(cat "$OUT/f")" != data ]; }
judge forbid
