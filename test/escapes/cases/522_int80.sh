#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no 32-bit table"
act <<'A'
probe int80
A
judge forbid
