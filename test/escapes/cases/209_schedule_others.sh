#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { canary; }
act <<'A'
probe schedule "$CANARY"
A
judge forbid
