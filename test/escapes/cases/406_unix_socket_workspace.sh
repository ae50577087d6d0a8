#!/bin/bash
. "${0%/*}/../lib.sh"
# A service of somebody else's, a development server for example, with its socket here.
prepare() { rm -rf "$OUT"; ln -s "$WS" "$OUT"; server; }
act <<'A'
probe dial unix "$WS/service.sock"
A
did() { grep -q UNIX "$R/hits" 2>/dev/null || grep -qa ^DID "$R/stdout"; }
judge forbid
