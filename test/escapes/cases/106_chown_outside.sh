#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
chown 12345:12345 "$OUT/f"
chown 12345 . && echo DID
A
did() { [ "$(stat -c %u "$OUT/f")" = 12345 ]; }
judge forbid
