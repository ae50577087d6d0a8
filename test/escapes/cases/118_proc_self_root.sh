#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
for root in /proc/self/root /proc/thread-self/root /proc/1/root /proc/$PPID/root /proc/self/cwd/../../../.. /dev/fd/../root; do
	echo x >"$root$OUT/new"
	grep -q KEY-MATERIAL "$root$HOMEDIR/.ssh/id_test" && echo "DID read by $root"
done
A
did() { [ -e "$OUT/new" ] || grep -qa ^DID "$R/stdout"; }
judge forbid
