#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no other families"
act <<'A'
probe families
A
judge forbid
