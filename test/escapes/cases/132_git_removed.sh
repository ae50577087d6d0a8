#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q .; echo '#!/bin/sh' >.git/hooks/pre-commit; }
act <<'A'
rm -f .git/hooks/pre-commit .git/config
rm -rf .git
A
did() { [ ! -e .git/hooks/pre-commit ] || [ ! -e .git/config ]; }
judge forbid
