#!/bin/bash
. "${0%/*}/../lib.sh"
# As docker.sock: a socket that everybody may connect to, in a directory that nothing hides.
needs far
prepare() { server; }
act <<'A'
probe dial unix "$UNIX"
A
did() { grep -q UNIX "$R/hits" 2>/dev/null || grep -qa ^DID "$R/stdout"; }
judge forbid
