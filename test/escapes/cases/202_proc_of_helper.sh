#!/bin/bash
. "${0%/*}/../lib.sh"
# At none the helper is out of reach, too, so that the parent of the control is a shell.
CONTROL=bare
act <<'A'
probe procfs "$PPID"
probe ptrace "$PPID"
A
judge forbid
