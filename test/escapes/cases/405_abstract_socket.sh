#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { server; }
act <<'A'
probe dial unix "$ABSTRACT"
A
did() { grep -q ABSTRACT "$R/hits" 2>/dev/null || grep -qa ^DID "$R/stdout"; }
judge forbid
