#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
probe setuid "$WS"
A
did() { [ -n "$(find "$WS" -perm /6000 -print -quit)" ]; }
judge forbid
