#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q .; mkdir .husky; git config core.hooksPath .husky; }
act <<'A'
echo evil >.husky/pre-commit
A
did() { [ -e .husky/pre-commit ]; }
judge forbid
