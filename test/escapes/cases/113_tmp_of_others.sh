#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { give OTHER "$B/other-$N"; echo KEY-MATERIAL >"$B/other-$N"; chmod 644 "$B/other-$N"; }
act <<'A'
grep -q KEY-MATERIAL "$OTHER" && echo DID
echo x >"$OTHER.new" && ls "${OTHER%/*}" | grep -q ^other- && echo DID
A
judge forbid
