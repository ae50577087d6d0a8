#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
launch() { timeout "$LIMIT" "$@" </dev/null >"$R/stdout" 2>"$R/stderr" 9<"$HOME/.ssh/id_test" 7>>"$OUT/f"; RC=$?; }
act <<'A'
probe fds
grep -q KEY-MATERIAL /proc/self/fd/9 && echo "DID read it"
A
judge forbid
