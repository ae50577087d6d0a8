#!/bin/bash
. "${0%/*}/../lib.sh"
# The marker shows that the last one ran; the others are asked by their codes alone.
CONTROL=bare
act <<'A'
exit 143
A
FIRST=1
codes() {
	local x rc
	for x in 'exit 3:3' 'no_such_cmd_q:127' '/etc/passwd:126' 'kill -SEGV $$:139' 'kill -TERM $$:143' 'kill -KILL $$:137' 'exit 0:0' 'exit 255:255'; do
		"$@" "${x%:*}" </dev/null >/dev/null 2>&1
		rc=$?
		[ $rc = "${x##*:}" ] || { echo "${x%:*} gives $rc"; return 1; }
	done
	# A program that is not there, without a shell to say so.
	if [ "$LEVEL" != bare ]; then
		"$CALLGATE" exec --sandbox "$LEVEL" -- no_such_cmd_q </dev/null >/dev/null 2>&1
		rc=$?
		[ $rc = 127 ] || { echo "no such program gives $rc"; return 1; }
		"$CALLGATE" exec --sandbox "$LEVEL" --no-such-flag -- true </dev/null >/dev/null 2>&1
		rc=$?
		[ $rc = 125 ] || { echo "no such flag gives $rc"; return 1; }
	fi
}
launch() {
	local args=("$@")
	"$@" </dev/null >"$R/stdout" 2>"$R/stderr"
	RC=$?
	unset 'args[$((${#args[@]} - 1))]'
	codes "${args[@]}" >"$R/codes" && CODES=right || CODES=wrong
	sed 's/^/bad /' "$R/codes" >>"$R/stdout"
}
did() { [ "$CODES" = right ]; }
judge allow
