#!/bin/bash
. "${0%/*}/../lib.sh"
needs tar gzip
act <<'A'
mkdir -p t/d; echo 1 >t/f; ln -s f t/l; ln t/f t/h; chmod 750 t/d; mkfifo t/p; touch -d 2001-01-01 t/f
tar czf t.tgz t
mkdir out
tar xzf t.tgz -C out
[ "$(stat -c %a out/t/d)" = 750 ]
[ "$(readlink out/t/l)" = f ]
[ "$(stat -c %h out/t/f)" = 2 ]
A
judge allow
