#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
FIRST=1
FLAGS=(--timeout 5s --output-keep 50000 --output-limit 16000000)
act <<'A'
timeout 3 yes
A
launch() { timeout -k 1 20 "$@" </dev/null 2>"$R/stderr" | head -c 200000 >"$R/stdout"; RC=${PIPESTATUS[0]}; }
did() { [ "$(stat -c %s "$R/stdout")" -gt 60000 ]; }
judge forbid
