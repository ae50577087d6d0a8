#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
grep -q root /etc/passwd
ls /usr/bin/env /etc >/dev/null
[ -r /proc/cpuinfo ]
[ -r /proc/self/status ]
nproc
date
TZ=Europe/Berlin date
uname -a
id
df . >/dev/null
[ ! -d /etc/ssl/certs ] || ls /etc/ssl/certs/ >/dev/null
A
judge allow
