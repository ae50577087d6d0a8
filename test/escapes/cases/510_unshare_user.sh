#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="no user namespaces for this user"
act <<'A'
probe userns
unshare -U true 2>/dev/null && echo "DID unshare(1)"
A
judge forbid
