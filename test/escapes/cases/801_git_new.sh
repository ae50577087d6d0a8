#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
SH=bash
act <<'A'
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git init -q -b main .
echo 1 >f; git add f; git commit -qm one
git checkout -q -b side; echo 2 >f; git commit -qam two
git checkout -q main; echo 3 >g; git add g; git commit -qm three
git merge -q side -m merge
git branch old; git branch -D old >/dev/null
echo 4 >f; git stash -q; git stash pop -q; git checkout -q f
git gc -q; git fsck
git worktree add -q wt side; echo 5 >wt/f; (cd wt; git commit -qam five); git worktree remove wt
git tag v1; git log --oneline | wc -l
git clone -q . copy; [ -f copy/g ]
A
judge allow
