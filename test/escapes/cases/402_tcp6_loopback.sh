#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="no IPv6"
prepare() { TCP6=none; server; }
act <<'A'
probe dial tcp "${TCP6:-[::1]:1}"
A
did() { grep -q TCP6 "$R/hits" 2>/dev/null || grep -qa ^DID "$R/stdout"; }
judge forbid
