#!/bin/bash
. "${0%/*}/../lib.sh"
needs perl
act <<'A'
(: >"$OUT/f") # a failure in : itself would end the shell
truncate -s 0 "$OUT/f"
perl -e 'truncate $ARGV[0], 0' "$OUT/f"
A
did() { [ "$(cat "$OUT/f")" != data ]; }
judge forbid
