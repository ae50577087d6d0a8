#!/bin/bash
. "${0%/*}/../lib.sh"
needs git
odd=$(printf "a b'c\"d\\\\e\nf,:=\t*ü漢🙂")
prepare() { WS="$R/$odd"; mkdir "$WS"; cd "$WS" && git init -q .; }
act <<'A'
echo evil >>.git/config
echo evil >.git/hooks/pre-commit
A
did() { grep -q evil .git/config || [ -e .git/hooks/pre-commit ]; }
judge forbid
