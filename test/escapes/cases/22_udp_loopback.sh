#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { server; }
act <<'A'
probe send udp "$UDP"
sleep 0.2
A
did() { grep -q UDP "$R/hits" 2>/dev/null; }
judge forbid
