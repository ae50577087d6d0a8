#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
mkdir -p a/b c; echo 1 >a/b/x
mv a/b/x c/y; mv a/b c/b2; mv c d; mv d/y .
[ "$(cat y)" = 1 ]; [ -d d/b2 ]
ln y z; ln -s y l; mv -T d e
cp -a e f; rm -r e f
t=$(mktemp); echo over >"$t"; mv "$t" y; [ "$(cat y)" = over ]
A
judge allow
