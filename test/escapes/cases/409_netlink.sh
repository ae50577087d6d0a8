#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no other netlink"
act <<'A'
probe netlink
A
judge forbid
