#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
FLAGS=(--memory 128MiB)
# Where nothing bounds it, little is taken.
prepare() {
	local bytes=200000000
	[ -z "$HEAVY" ] || [ "$CONTROLS" = yes ] || [ "$LEVEL" = none ] || bytes=10000000000
	give BYTES "$bytes"
}
act <<'A'
probe memory "$BYTES"
A
judge forbid
