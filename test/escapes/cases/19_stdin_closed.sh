#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
launch() { echo '{"jsonrpc":"2.0"}' | timeout 20 "$@" >"$R/stdout" 2>"$R/stderr"; RC=$?; }
act <<'A'
cat | sed 's/^/DID read /'
A
judge forbid
