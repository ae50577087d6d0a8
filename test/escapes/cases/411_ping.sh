#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="no address but 127.0.0.1, or no right to ping"
prepare() { give ADDRS "$(hostname -I 2>/dev/null)"; }
act <<'A'
probe ping $ADDRS
A
judge forbid
