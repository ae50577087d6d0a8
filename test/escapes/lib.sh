# Sourced by every case. README.md says what a case is; the runner is escapes_test.go.
# By hand: CALLGATE=/path/to/callgate PROBE=/path/to/probe LEVELS=isolated cases/01_write_outside.sh
set -u
: "${CALLGATE:?the command under test}" "${PROBE:?the program of testdata/probe}"
: "${LEVELS:=isolated confined none}" "${NEAR:=/tmp}" "${FAR:=/tmp}" "${HEAVY:=}" "${NOOP:=}" "${SUITE:=}"
umask 022

# Places of a case. B lies where a sandbox has a private directory (/tmp), FARB
# where it has no reason to hide anything, so that it takes more than an empty
# directory to keep a write from there.
B=$NEAR/cgesc.$$.$RANDOM FARB=$FAR/cgfar.$$.$RANDOM
# All rooms at once: on a small machine most of the time of this suite goes into the
# start of programs.
mkdir -p "$B"/{1,2,3,4}/{home/.ssh,tmp,ws} "$FARB"/{1,2,3,4} || exit 1
PIDS="" N=0 TAG=""
clean() {
	exec 2>/dev/null # bash would tell of each one that it kills
	local p
	for p in $PIDS; do kill -9 "$p"; [ "$EUID" != 0 ] || rm -f "/run/cgesc-$SUITE-$p.sock"; done
	[ -z "$TAG" ] || "$PROBE" left -kill "$TAG"
	cleanup
	cd /
	rm -rf "$B" "$FARB" || { chmod -R u+rwX "$B" "$FARB"; rm -rf "$B" "$FARB"; }
}
cleanup() { :; } # of a case that leaves something elsewhere
trap clean EXIT
trap 'exit 1' TERM INT HUP

# What a case sets.
CONTROL=none     # where the act must succeed: none (the level), bare (without callgate), harm (nowhere)
MAYBE=""         # why the control may fail on some machine; then the case is skipped there
FLAGS=()         # more flags of callgate exec
SH=sh            # the shell that runs the act
FIRST=""         # set: the marker comes before the act
LIMIT=40         # seconds for one attempt
AFTER=""         # shell text after the marker
ACT="" ACTC=""   # the act, and another one for the control
prepare() { :; } # before each attempt, outside, in $WS
launch() { timeout -k 2 "$LIMIT" "$@" </dev/null >"$R/stdout" 2>"$R/stderr"; RC=$?; }
did() { # has the act succeeded
	slurp
	[[ $SAID == *$'\n'DID* ]]
}
# slurp reads what the attempt wrote. In bash itself: each program that a case starts
# is started a thousand times.
slurp() { { SAID=$(<"$R/stdout"); } 2>/dev/null; SAID=$'\n'${SAID//$'\r'/}$'\n'; }

act() { IFS= read -r -d '' ACT || :; }
act_of_control() { IFS= read -r -d '' ACTC || :; }
give() { HEADER+="$1='${2//\'/"'\''"}'"$'\n'; } # NAME VALUE: a variable of the act
verdict() { printf 'VERDICT %s %s %s\n' "$1" "$2" "${3:-}"; }
all() { local l; for l in $LEVELS; do verdict "$l" "$1" "$2"; done; exit 0; }
skip() { all SKIP "$*"; }

# needs WORD... skips the case where the machine or the user has no such thing.
needs() {
	local w
	for w; do
		case $w in
		root) [ "$EUID" = 0 ] || skip "only root can try" ;;
		user) [ "$EUID" != 0 ] || skip "root has no need to try" ;;
		far) [ "$FAR" != "$NEAR" ] || skip "no directory outside of /tmp to try with" ;;
		heavy) [ -n "$HEAVY" ] || skip "takes long: CI or CALLGATE_ESCAPES=all" ;;
		*) [ -x "/usr/bin/$w" ] || [ -x "/bin/$w" ] || PATH=/usr/local/go/bin:/usr/local/bin:$PATH command -v "$w" >/dev/null || skip "no $w" ;;
		esac
	done
}

# canary starts a process outside that the act may aim at.
canary() {
	"$PROBE" canary "$R/struck" 8>"$R/held" &
	CANARY=$!
	PIDS="$PIDS $CANARY"
	for _ in $(seq 500); do [ -e "$R/struck.ready" ] && break; sleep 0.02; done
	# Acts that would strike everybody spare all but the canary where it can be struck.
	kill -0 "$CANARY" 2>/dev/null && [ -e "$R/struck.ready" ] || all FAIL "control: the canary does not live"
	give CANARY "$CANARY"
}

# server starts services outside: tcp, tcp6, udp, unix sockets. They write what reaches
# them into $R/hits.
server() {
	"$PROBE" serve "$R" "$OUT/service.sock" 2>/dev/null &
	PIDS="$PIDS $!"
	for _ in $(seq 100); do [ -e "$R/ports" ] && break; sleep 0.02; done
	local name value
	while read -r name value; do give "$name" "$value"; done <"$R/ports"
}

# egress is for the cases of allowed hosts. The runner has a server at port 80 and 443 of
# an address of its own; NAME and OTHERNAME are names that lead there.
egress() {
	[ -n "${SERVERIP:-}" ] || skip "only root can have a server at port 80"
	NAME=api.escapes.example OTHERNAME=other.escapes.example
}
allowed_host() { FLAGS=(--net allow --allow-host "$NAME" --test-resolve "$NAME=$SERVERIP"); }

room() {
	N=$((N + 1)) R=$B/$((N)) OUT=$FARB/$((N)) WS=$B/$((N))/ws HEADER="" RC=""
	TAG=8$SUITE$$$RANDOM.$RANDOM # a number, so that sleep takes it, and no other process has it
	echo KEY-MATERIAL >"$R/home/.ssh/id_test"
	echo KEY-MATERIAL >"$OUT/secret"
	echo data >"$OUT/f"
	export HOME=$R/home TMPDIR=$R/tmp
	unset XDG_CACHE_HOME XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR
	cd "$WS" || exit 1
}

# attempt LEVEL runs the act once in a fresh room.
attempt() {
	LEVEL=$1
	room
	prepare
	cd "$WS" 2>/dev/null || cd "$R" || exit 1
	local x=$((RANDOM * 32768 + RANDOM)) y=$((RANDOM * 32768 + RANDOM)) text=$ACT mark
	[ -n "$ACTC" ] && [ "$CONTROLS" = yes ] && text=$ACTC
	# The marker is a sum, so that a program that repeats its arguments does not print it.
	mark="printf '\\nran %s\\n' \$(($x+$y))"
	MARK="ran $((x + y))"
	give WS "$WS"; give OUT "$OUT"; give R "$R"; give HOMEDIR "$HOME"; give TAG "$TAG"
	[ -z "${SERVERIP:-}" ] || { give SERVERIP "$SERVERIP"; give NAME "${NAME:-}"; give OTHERNAME "${OTHERNAME:-}"; }
	case $text in *probe*) ln "$NEAR/probe" "$WS/probe" 2>/dev/null || cp "$PROBE" "$WS/probe"; HEADER="${HEADER}probe() { \"\$WS/probe\" \"\$@\"; }"$'\n' ;; esac
	if [ -n "$FIRST" ]; then text="$mark"$'\n'"$text"; else text="$text"$'\n'"$mark"; fi
	text="$HEADER$text"$'\n'"$AFTER"
	if [ "$LEVEL" = bare ]; then
		launch sh -c '"$@"; exit $?' sh "$SH" -c "$text" # a parent that the act may kill
	else
		launch "$CALLGATE" exec --sandbox "$LEVEL" ${FLAGS[@]+"${FLAGS[@]}"} -- "$SH" -c "$text"
	fi
}
ran() {
	slurp
	[[ $SAID == *$'\n'"$MARK"$'\n'* ]]
}
said() { # what the attempt has said, for a reader of a failure
	printf 'rc=%s %s | %s' "$RC" "$(grep -ah '^DID\|^bad' "$R/stdout" | head -5 | tr '\n' ';') $(grep -a '^tried' "$R/stdout" | head -5 | tr '\n' ';')" "$(tail -n 3 "$R/stderr" | tr '\n' ';')" | tr -d '\r\0' | cut -c 1-700
}

# left waits a moment for what is about to go, and names what stays.
left() {
	local i pids temp
	for i in 1 2 3 4 5 6 7 8; do
		pids=$("$PROBE" left "$TAG") temp=$(echo "$R"/tmp/callgate-*)
		[ "$temp" = "$R/tmp/callgate-*" ] && temp=""
		[ -z "$pids$temp" ] && return 1
		sleep 0.25
	done
	LEFT="${pids:+processes }$(echo $pids) ${temp:-}"
}

# judge forbid|allow ends a case. The control comes first: where the act does not work
# at all, or the command did not run, nothing is shown.
judge() {
	local kind=$1 level
	CONTROLS=yes
	if [ "$kind" = allow ]; then
		ACT="( set -e"$'\n'"$ACT"$'\n'"echo DID )"
		[ "$CONTROL" = none ] && CONTROL=bare
	fi
	if [ "$NOOP" = runs ] && { [ "$CONTROL" = harm ] || [ -n "$ACTC" ]; }; then
		skip "would do harm: what is tested runs the act without a sandbox"
	fi
	if [ "$CONTROL" != harm ] && [ -z "$NOOP" ]; then
		attempt "$CONTROL"
		ran || all FAIL "control: the command did not run: $(said)"
		if ! did; then
			[ -n "$MAYBE" ] && skip "the act does not work here: $MAYBE"
			all FAIL "control: the act does not work without a sandbox: $(said)"
		fi
		"$PROBE" left -kill "$TAG" >/dev/null
	fi
	CONTROLS=no
	for level in $LEVELS; do
		if [ "$level" = none ] && [ "$CONTROL" = none ] && [ -z "$NOOP" ]; then
			verdict none FAIL "the control"
			continue
		fi
		attempt "$level"
		LEFT=unknown
		if ! ran; then
			verdict "$level" FAIL "the command did not run: $(said)"
		elif [ "$kind" = forbid ] && did; then
			verdict "$level" FAIL "the act succeeded: $(said)"
		elif [ "$kind" = allow ] && ! did; then
			verdict "$level" FAIL "does not work: $(said)"
		elif left; then
			verdict "$level" FAIL "left behind: $LEFT"
		else
			LEFT=""
			verdict "$level" PASS
		fi
		[ -z "$LEFT" ] || "$PROBE" left -kill "$TAG" >/dev/null
	done
	TAG="" # nothing is left to be cleaned up
	exit 0
}
