#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
FLAGS=(--memory 256MiB)
act <<'A'
probe memory 700000000
A
judge forbid
