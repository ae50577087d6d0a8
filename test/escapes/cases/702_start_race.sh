#!/bin/bash
. "${0%/*}/../lib.sh"
# Somebody else swaps .git for a link to the outside while callgate looks at it.
if [ -n "$HEAVY" ]; then ROUNDS=50; else ROUNDS=4; fi
needs git
prepare() { git init -q .; mkdir -p "$OUT/hooks" "$OUT/modules"; echo x >"$OUT/config"; ln -s "$OUT" link; }
act <<'A'
for d in .git link; do
	echo evil >"$d/planted"
	echo evil >>"$d/f"
	echo evil >"$d/hooks/planted"
done
echo evil >"$OUT/planted"
A
launch() {
	local i rounds=$ROUNDS
	"$PROBE" swap .git link "$R/stop" >/dev/null &
	local p=$!
	[ "$LEVEL" = none ] && rounds=2
	for i in $(seq "$rounds"); do
		timeout -k 2 "$LIMIT" "$@" </dev/null >"$R/stdout.one" 2>"$R/stderr"
		RC=$?
		# It may refuse to start, but must say so.
		if grep -qa "$MARK" "$R/stdout.one" || [ "$RC" != 125 ]; then cp "$R/stdout.one" "$R/stdout"; fi
	done
	: >"$R/stop"
	wait $p
}
did() { [ -e "$OUT/planted" ] || [ -e "$OUT/hooks/planted" ] || grep -q evil "$OUT/f"; }
judge forbid
