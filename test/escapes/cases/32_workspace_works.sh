#!/bin/bash
. "${0%/*}/../lib.sh"
needs git python3
SH=bash
prepare() { git init -q .; }
act <<'A'
mkdir a b; echo 1 >a/x; mv a/x b/x
git add -A
git -c user.name=t -c user.email=t@t commit -qm m
/usr/bin/python3 -c 'import tempfile, os; os.close(tempfile.mkstemp()[0])'
cat <<<ok >/dev/null
echo y >/dev/stdout
mkfifo f
rm f
test -w "${TMPDIR:-/tmp}"
A
judge allow
