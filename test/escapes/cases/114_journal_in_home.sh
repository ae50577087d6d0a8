#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { mkdir -p "$HOME/.local/state/callgate"; echo KEY-MATERIAL >"$HOME/.local/state/callgate/journal.db"; }
act <<'A'
grep -q KEY-MATERIAL "$HOMEDIR/.local/state/callgate/journal.db" && echo DID
A
judge forbid
