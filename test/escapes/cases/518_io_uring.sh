#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no io_uring, or not for this user"
act <<'A'
probe iouring
A
judge forbid
