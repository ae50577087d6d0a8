#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no x32 table"
act <<'A'
probe x32
A
judge forbid
