#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no keyrings"
act <<'A'
probe keys
A
judge forbid
