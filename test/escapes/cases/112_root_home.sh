#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
MAYBE="no plain file in /root"
act <<'A'
[ -n "$(find /root -maxdepth 1 -type f 2>/dev/null)" ] && echo DID
ls -d /root/.ssh/* /root/.config/* /root/.local/state/* 2>/dev/null | grep -q . && echo DID
A
judge forbid
