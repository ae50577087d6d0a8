#!/bin/bash
. "${0%/*}/../lib.sh"
# The directory is made by the runner, which is root then.
[ -n "${OTHERHOME:-}" ] || skip "only root can make another home below /home"
act <<A
cat "$OTHERHOME/notes" | grep -q KEY-MATERIAL && echo DID
A
judge forbid
