#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
prepare() { git init -q .; }
act <<'A'
printf '[core]\n\tfsmonitor = evil\n' >new
mv -f new .git/config
printf '[core]\n\tfsmonitor = evil\n' >.git/config.lock && mv -f .git/config.lock .git/config
git config core.fsmonitor evil
rm -rf .git/hooks; ln -s "$WS/planted" .git/hooks
A
did() { grep -q fsmonitor .git/config || [ -L .git/hooks ]; }
judge forbid
