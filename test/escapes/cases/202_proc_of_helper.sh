#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
probe procfs "$PPID"
probe ptrace "$PPID"
A
judge forbid
