#!/bin/bash
. "${0%/*}/../lib.sh"
# For root, whom the kernel's limit of a user does not bind, it takes a pids cgroup.
[ "$EUID" != 0 ] || [ -d /sys/fs/cgroup/pids ] || grep -qw pids /sys/fs/cgroup/cgroup.controllers 2>/dev/null || skip "no pids cgroup, which it takes for root"
# Outside of CI a lower limit than the default, which takes fewer starts to reach.
FORKS=700
[ -n "$HEAVY" ] || FORKS=60 FLAGS=(--processes 50)
act <<A
probe forks $FORKS
A
judge forbid
