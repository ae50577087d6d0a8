#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q .; }
act <<'A'
mv .git .old && mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit
mv .git/hooks .git/hooks2 && mkdir .git/hooks && echo evil >.git/hooks/pre-commit
A
did() { [ -e .git/hooks/pre-commit ] || [ -e .old ]; }
judge forbid
