#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q .; mv .git store; ln -s store .git; }
act <<'A'
echo evil >.git/hooks/pre-commit
echo evil >store/hooks/pre-push
echo '[core]fsmonitor=evil' >>store/config
mkdir -p other/hooks && ln -sfn other .git
mv store store2
A
did() { [ -e store/hooks/pre-commit ] || [ -e store/hooks/pre-push ] || grep -q fsmonitor store/config || [ "$(readlink .git)" != store ]; }
judge forbid
