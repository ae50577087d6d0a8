#!/bin/bash
. "${0%/*}/../lib.sh"
needs far
prepare() { server; mkdir "$OUT/d"; ln "$OUT/service.sock" "$OUT/d/other"; }
act <<'A'
probe dial unix "$OUT/d/other"
A
did() { grep -q UNIX "$R/hits" 2>/dev/null; }
judge forbid
