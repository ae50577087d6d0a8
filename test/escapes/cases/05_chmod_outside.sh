#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
chmod 777 "$OUT/f"
A
did() { [ "$(stat -c %a "$OUT/f")" != 644 ]; }
judge forbid
