#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no bpf, or not for this user"
act <<'A'
probe bpf
A
judge forbid
