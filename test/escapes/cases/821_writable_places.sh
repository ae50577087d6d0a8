#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
for d in "$HOME" "$TMPDIR" "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$GOCACHE" "$npm_config_cache"; do
	mkdir -p "$d/x-$$"
	echo 1 >"$d/x-$$/f"
	rm -r "$d/x-$$"
done
A
# Without callgate the names have no values.
prepare() {
	[ "$LEVEL" != bare ] || export XDG_CACHE_HOME=$R/c XDG_CONFIG_HOME=$R/c XDG_DATA_HOME=$R/c XDG_STATE_HOME=$R/c GOCACHE=$R/c npm_config_cache=$R/c
	[ "$LEVEL" = bare ] || unset GOCACHE npm_config_cache
}
judge allow
