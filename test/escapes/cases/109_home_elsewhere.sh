#!/bin/bash
. "${0%/*}/../lib.sh"
needs far
prepare() { export HOME=$OUT/home; mkdir -p "$HOME/.ssh"; echo KEY-MATERIAL >"$HOME/.ssh/id_test"; echo KEY-MATERIAL >"$HOME/.netrc"; }
act <<'A'
cat "$HOMEDIR/.ssh/id_test" "$HOMEDIR/.netrc" | grep -q KEY-MATERIAL && echo DID
A
judge forbid
