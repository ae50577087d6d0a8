#!/bin/bash
. "${0%/*}/../lib.sh"
# The service starts when the command says that it runs.
needs far
prepare() {
	(
		for _ in $(seq 500); do [ -e "$WS/started" ] && exec "$PROBE" serve "$R" "$OUT/service.sock"; sleep 0.02; done
	) >/dev/null 2>&1 &
	PIDS="$PIDS $!"
}
act <<'A'
: >started
for i in $(seq 100); do [ -S "$OUT/service.sock" ] && break; sleep 0.05; done
probe dial unix "$OUT/service.sock"
A
did() { grep -q UNIX "$R/hits" 2>/dev/null; }
judge forbid
