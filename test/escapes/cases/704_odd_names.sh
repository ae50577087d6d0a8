#!/bin/bash
. "${0%/*}/../lib.sh"
odd=$(printf "a b'c\"d\\\\e\nf\$(touch g)\t*ü漢🙂")
prepare() { WS="$R/$odd"; mkdir "$WS"; }
act <<'A'
echo x >file
[ "$PWD" = "$WS" ]
[ "$(cat "$WS/file")" = x ]
mkdir d
mv file d/
A
judge allow
