#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
cat "$HOMEDIR/.ssh/id_test" | grep -q KEY-MATERIAL && echo DID
A
judge forbid
