#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { canary; }
act <<'A'
probe takefd "$CANARY" 8
A
judge forbid
