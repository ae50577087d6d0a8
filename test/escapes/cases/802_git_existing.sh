#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
SH=bash
prepare() {
	export GIT_CONFIG_GLOBAL=/dev/null
	git init -q -b main .; echo 0 >f; git add f; git -c user.name=t -c user.email=t@t commit -qm zero
}
act <<'A'
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git status --short
echo 1 >f; git add f; git commit -qm one
git checkout -q -b side; echo 2 >f; git commit -qam two
git checkout -q main; echo 3 >g; git add g; git commit -qm three
git merge -q side -m merge
git branch old
git rebase -q HEAD
echo 4 >f; git stash -q; git stash pop -q; git checkout -q f
git gc -q; git fsck
git worktree add -q wt side; echo 5 >wt/f; (cd wt; git commit -qam five); git worktree remove wt
git tag v1; git reset -q --hard HEAD~1; git reflog >/dev/null
git rm -q f; git mv g h; git commit -qm moved
A
judge allow
