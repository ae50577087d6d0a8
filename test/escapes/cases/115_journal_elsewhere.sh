#!/bin/bash
. "${0%/*}/../lib.sh"
needs far
prepare() { export XDG_STATE_HOME=$OUT/state; mkdir -p "$XDG_STATE_HOME/callgate"; echo KEY-MATERIAL >"$XDG_STATE_HOME/callgate/journal.db"; }
act <<'A'
grep -q KEY-MATERIAL "$OUT/state/callgate/journal.db" && echo DID
A
judge forbid
