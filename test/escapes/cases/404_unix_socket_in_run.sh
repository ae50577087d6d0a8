#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
prepare() { server; }
cleanup() { rm -f /run/cgesc-"$SUITE"-*.sock; }
act <<'A'
probe dial unix "$RUN"
A
did() { grep -q RUN "$R/hits" 2>/dev/null || grep -qa ^DID "$R/stdout"; }
judge forbid
