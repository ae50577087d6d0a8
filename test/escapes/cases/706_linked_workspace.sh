#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { mkdir "$R/real"; rmdir "$WS"; ln -s "$R/real" "$WS"; }
act <<'A'
echo x >file
mkdir d
mv file d/
[ "$(cat d/file)" = x ]
A
judge allow
