#!/bin/bash
. "${0%/*}/../lib.sh"
CONTROL=bare
act <<'A'
for fd in 1 2; do
	readlink /proc/self/fd/$fd | grep -q "^$R/" && echo "DID find the file of $fd"
	[ -f /proc/self/fd/$fd ] && echo "DID see a file at $fd"
done
A
judge forbid
