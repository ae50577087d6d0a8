#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
FIRST=1
FLAGS=(--timeout 2s)
act <<'A'
trap '' TERM INT HUP
setsid sh -c "for i in \$(seq 150); do (sleep $TAG &); sleep 0.1; done" &
sleep "$TAG"
A
launch() { if [ "$LEVEL" = bare ]; then LIMIT=2; else LIMIT=40; fi; timeout -k 1 "$LIMIT" "$@" </dev/null >"$R/stdout" 2>"$R/stderr"; RC=$?; }
did() { sleep 0.5; [ -n "$("$PROBE" left "$TAG")" ] || { [ "$LEVEL" != bare ] && [ "$RC" != 124 ]; }; }
judge forbid
