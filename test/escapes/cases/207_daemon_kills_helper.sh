#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
needs perl
act <<'A'
setsid env -i /usr/bin/perl -e 'my $tag = $ARGV[0]; for (1..400) { kill 9, $ARGV[1]; select undef, undef, undef, 0.05 }' "$TAG" "$PPID" </dev/null >/dev/null 2>&1 &
sleep 0.2
kill -9 $PPID
A
FIRST=1
did() { sleep 1; [ -n "$("$PROBE" left "$TAG")" ]; }
judge forbid
