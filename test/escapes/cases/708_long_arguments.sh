#!/bin/bash
. "${0%/*}/../lib.sh"
SH=sh
act <<'A'
[ "$LONG" -eq 100000 ]
[ "$COUNT" -eq 2000 ]
A
# Behind the text of the act come its arguments: one long, many short.
launch() {
	local long args=("$@")
	long=$(printf '%0100000d' 0)
	args[$((${#args[@]} - 1))]="LONG=\${#1} COUNT=\$((\$#-1))"$'\n'"${args[$((${#args[@]} - 1))]}"
	timeout "$LIMIT" "${args[@]}" sh "$long" $(seq 2000) </dev/null >"$R/stdout" 2>"$R/stderr"
	RC=$?
}
judge allow
