#!/bin/bash
. "${0%/*}/../lib.sh"
needs user
[ -n "${SUID:-}" ] || skip "only root can make a setuid program of root's"
MAYBE="the file system of the program is mounted nosuid"
act <<A
"$SUID" suid
A
judge forbid
