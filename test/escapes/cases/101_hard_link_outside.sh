#!/bin/bash
. "${0%/*}/../lib.sh"
# The workspace lies beside the file, on one file system, so that only a rule can refuse.
prepare() { WS=$OUT/ws; mkdir "$WS"; }
act <<'A'
ln "$OUT/f" link && echo pwned >link
ln "$OUT/secret" link2 && echo DID
ln link "$OUT/back"
A
did() { grep -qa ^DID "$R/stdout" || grep -q pwned "$OUT/f" || [ -e "$OUT/back" ]; }
judge forbid
