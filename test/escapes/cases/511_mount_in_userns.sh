#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="no user namespaces for this user"
act <<'A'
mkdir -p m && probe usernsmount "$WS/m"
unshare -Urm sh -c 'mount -t tmpfs none /mnt' 2>/dev/null && echo "DID unshare(1)"
A
judge forbid
