#!/bin/bash
. "${0%/*}/../lib.sh"
# It forks into a new session every few milliseconds, and ends by itself after 15 s.
CONTROL=bare
needs perl
FIRST=1
act <<'A'
env -i /usr/bin/perl -e 'use POSIX; my $end = time + 15; while (time < $end) { my $p = fork; if ($p) { exit } setsid(); select undef, undef, undef, 0.004 }' "$TAG" </dev/null >/dev/null 2>&1 &
sleep 0.2
kill -9 $PPID
sleep 0.2
A
did() { # one look may miss what is never the same process for long
	sleep 2
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		[ -n "$("$PROBE" left "$TAG")" ] && return
		sleep 0.1
	done
	return 1
}
judge forbid
