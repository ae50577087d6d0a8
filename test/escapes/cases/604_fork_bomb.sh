#!/bin/bash
. "${0%/*}/../lib.sh"
# No control: it would harm. That the bomb is one is seen in how the call ends: by
# the timeout, with processes that could not be made.
CONTROL=harm
needs heavy
[ "$EUID" != 0 ] || [ -d /sys/fs/cgroup/pids ] || grep -qw pids /sys/fs/cgroup/cgroup.controllers 2>/dev/null || skip "no pids cgroup, which it takes for root"
SH=bash
FIRST=1
FLAGS=(--timeout 10s --processes 64)
act <<'A'
: "$TAG"
bomb() { bomb | bomb & }
bomb
sleep 60
A
did() { [ "$RC" != 124 ] || ! grep -qa 'fork\|Resource' "$R/stderr"; }
judge forbid
