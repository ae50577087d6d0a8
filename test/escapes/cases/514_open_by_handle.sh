#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
MAYBE="this file system has no handles"
act <<'A'
probe handle "$OUT/f"
A
judge forbid
