#!/bin/bash
. "${0%/*}/../lib.sh"
# What an earlier call could leave: protecting .git must not open what the link leads to.
prepare() { mkdir -p "$OUT/hooks" "$OUT/modules"; echo x >"$OUT/config"; ln -s "$OUT" .git; }
act <<'A'
echo evil >.git/new
echo evil >>.git/f
echo evil >.git/hooks/pre-commit
echo evil >"$OUT/new"
A
did() { [ -e "$OUT/new" ] || [ -e "$OUT/hooks/pre-commit" ] || grep -q evil "$OUT/f"; }
judge forbid
