#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { server; }
act <<'A'
probe dial tcp "$TCP"
A
did() { grep -q TCP "$R/hits" 2>/dev/null || grep -qa ^DID "$R/stdout"; }
judge forbid
