#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe setns
nsenter -t 1 -n true 2>/dev/null && echo "DID nsenter"
A
judge forbid
