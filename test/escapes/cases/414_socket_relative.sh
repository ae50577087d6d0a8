#!/bin/bash
. "${0%/*}/../lib.sh"
needs far
prepare() { export RELATIVE=1; server; }
act <<'A'
probe dial unix "$OUT/service.sock"
A
did() { grep -q UNIX "$R/hits" 2>/dev/null; }
judge forbid
