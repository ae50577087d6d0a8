#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q sub; }
act <<'A'
echo evil >sub/.git/hooks/pre-commit
A
did() { [ -e sub/.git/hooks/pre-commit ]; }
judge forbid
