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
did() { sleep 2; [ -n "$("$PROBE" left "$TAG")" ]; }
judge forbid
