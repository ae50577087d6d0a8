#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { canary; }
act <<'A'
[ -d "/proc/$CANARY" ] && echo "DID see it"
tr '\0' ' ' <"/proc/$CANARY/cmdline" | grep -q canary && echo "DID read its arguments"
A
judge forbid
