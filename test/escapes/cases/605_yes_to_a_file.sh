#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=harm
needs heavy
act <<'A'
yes >big
echo "ended with $?"
[ "$(stat -c %s big)" -gt 1200000000 ] && echo DID
rm -f big
A
judge forbid
