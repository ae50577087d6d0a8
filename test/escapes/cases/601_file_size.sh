#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
act <<'A'
probe sparse "$WS/big" 1100000000
probe sparse "${TMPDIR:-/tmp}/big" 1100000000
rm -f "$WS/big" "${TMPDIR:-/tmp}/big"
A
judge forbid
