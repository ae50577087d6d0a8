#!/bin/bash
. "${0%/*}/../lib.sh"
needs far
prepare() { server; }
act <<'A'
probe send unixgram "$UNIXGRAM"
sleep 0.2
A
did() { grep -q UNIXGRAM "$R/hits" 2>/dev/null; }
judge forbid
