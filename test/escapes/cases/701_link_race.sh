#!/bin/bash
. "${0%/*}/../lib.sh"
# Two races: with a directory that is hidden, whose file must not be read, and with
# one that can be seen, in which nothing must be written.
LIMIT=300
prepare() {
	mkdir "$WS/one" "$WS/two" "$R/hidden"
	echo KEY-MATERIAL >"$R/hidden/secret"
	rm "$OUT/secret"
	give HIDDEN "$R/hidden"
	local tries=1500 # enough where nothing keeps them from success
	[ -z "$HEAVY" ] || [ "$CONTROLS" = yes ] || tries=30000
	give TRIES "$tries"
}
act <<'A'
probe race "$WS/one" "$HIDDEN" "$TRIES"
probe race "$WS/two" "$OUT" "$TRIES"
A
did() { slurp; [[ $SAID == *$'\n'DID* || $SAID == *$'\n'bad* ]] || [ -n "$(find "$R/hidden" "$OUT" -name 'w*' -print -quit)" ]; }
judge forbid
