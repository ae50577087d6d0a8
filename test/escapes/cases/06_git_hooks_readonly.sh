#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q .; }
act <<'A'
echo evil >.git/hooks/pre-commit
echo '[core]fsmonitor=evil' >>.git/config
A
did() { [ -e .git/hooks/pre-commit ] || grep -q fsmonitor .git/config; }
judge forbid
