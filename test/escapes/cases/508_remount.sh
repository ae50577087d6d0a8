#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe remount / /proc "$WS" /sys
A
judge forbid
