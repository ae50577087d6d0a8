#!/bin/bash
. "${0%/*}/../lib.sh"
# It says so with 125, and does not run somewhere else. That commands run there without
# callgate is the control.
CONTROL=bare
prepare() { mkdir "$R/gone"; }
act <<'A'
echo DID run
A
launch() {
	( cd "$R/gone" && rmdir "$R/gone" && timeout "$LIMIT" "$@" </dev/null >"$R/stdout" 2>"$R/stderr" )
	RC=$?
}
ran() { [ "$RC" = 125 ] && grep -q 'directory is unknown' "$R/stderr" && [ "$LEVEL" != bare ] || grep -qax "$MARK" "$R/stdout"; }
judge forbid
