#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { canary; }
act <<'A'
probe ptrace "$CANARY"
(: </proc/$CANARY/mem) 2>/dev/null && echo "DID open mem"
A
judge forbid
