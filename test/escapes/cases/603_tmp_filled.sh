#!/bin/bash
. "${0%/*}/../lib.sh"
# What it takes is memory of the machine: 3 GB, given back at once.
CONTROL=harm
needs heavy
FIRST=1
act <<'A'
probe fill "${TMPDIR:-/tmp}" 3000000000
probe fill /tmp 3000000000
probe fill /dev/shm 3000000000
A
judge forbid
