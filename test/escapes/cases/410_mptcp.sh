#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no multipath TCP"
act <<'A'
probe mptcp
A
judge forbid
