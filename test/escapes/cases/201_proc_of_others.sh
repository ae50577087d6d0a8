#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { canary; }
act <<'A'
probe procfs "$CANARY" 1
A
judge forbid
