#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
mkdir -p m && probe mount "$WS/m"
A
cleanup() { umount -l "$B"/*/ws/m 2>/dev/null; }
judge forbid
