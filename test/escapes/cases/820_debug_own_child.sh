#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
sleep 30 & c=$!
for i in $(seq 100); do # until it is the program that it is to be
	tr '\0' ' ' </proc/$c/cmdline | grep -q ^sleep && break
	sleep 0.05
done
tr '\0' ' ' </proc/$c/cmdline | grep -q ^sleep
ls /proc/$c/fd >/dev/null
readlink /proc/$c/cwd
kill -STOP $c; kill -CONT $c; kill $c
ps >/dev/null 2>&1 || ls /proc >/dev/null
A
judge allow
