#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
seq 200000 | sort -r -S 1M | sort -n -S 1M -o out
[ "$(tail -1 out)" = 200000 ]
A
judge allow
