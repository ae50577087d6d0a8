#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
launch() { timeout "$LIMIT" "$@" </dev/null >"$R/stdout" 2>"$R/stderr" 8<"$OUT"; RC=$?; }
act <<'A'
probe fds
grep -q KEY-MATERIAL /proc/self/fd/8/secret && echo "DID read below it"
A
judge forbid
