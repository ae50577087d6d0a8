#!/bin/bash
. "${0%/*}/../lib.sh"
# .git is a file that names the directory, as in a worktree or a submodule.
needs git
prepare() { git init -q .; mkdir sub; mv .git store; echo "gitdir: store" >.git; }
act <<'A'
mkdir -p planted/hooks && echo "gitdir: planted" >.git
echo evil >store/hooks/pre-push
echo '[core]fsmonitor=evil' >>store/config
echo "gitdir: planted" >new && mv -f new .git
A
did() { [ "$(cat .git)" != "gitdir: store" ] || [ -e store/hooks/pre-push ] || grep -q fsmonitor store/config; }
judge forbid
