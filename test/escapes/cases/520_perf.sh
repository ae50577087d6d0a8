#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no perf events, or not for this user"
act <<'A'
probe perf
A
judge forbid
