#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the log is for root"
act <<'A'
probe kernellog
probe openr /dev/kmsg /proc/kmsg
A
judge forbid
