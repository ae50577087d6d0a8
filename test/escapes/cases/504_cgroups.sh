#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
MAYBE="no cgroup that can be written"
act <<'A'
for d in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/memory /sys/fs/cgroup/pids /sys/fs/cgroup/systemd; do
	[ -d "$d" ] || continue
	mkdir "$d/cgesc-$TAG" && echo "DID make $d" && rmdir "$d/cgesc-$TAG"
	probe openw "$d/release_agent" "$d/cgroup.procs" "$d/notify_on_release" "$d/cgroup.subtree_control"
done
A
cleanup() { rmdir /sys/fs/cgroup/cgesc-8"$SUITE$$"* /sys/fs/cgroup/*/cgesc-8"$SUITE$$"* 2>/dev/null; }
judge forbid
