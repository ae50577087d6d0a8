#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { give OTHER "$B/other-$N"; echo KEY-MATERIAL >"$B/other-$N"; }
act <<'A'
grep -q KEY-MATERIAL "$OTHER" && echo DID
ls "${OTHER%/*}" | grep -q ^other- && echo "DID list it"
echo x >"$OTHER.new"
A
did() { slurp; [[ $SAID == *$'\n'DID* ]] || [ -e "$B/other-$N.new" ]; }
judge forbid
