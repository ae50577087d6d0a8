#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
MAYBE="crashes do not write files called core here"
act <<'A'
ulimit -c unlimited
sh -c 'kill -SEGV $$'
ls core* >/dev/null && echo DID
A
judge forbid
