#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
exec 5<"$OUT/f"
echo pwned >/proc/self/fd/5
exec 5<"$OUT"
echo pwned >/proc/self/fd/5/new
A
did() { [ -e "$OUT/new" ] || [ "$(cat "$OUT/f")" != data ]; }
judge forbid
