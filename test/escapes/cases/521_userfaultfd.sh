#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no userfaultfd, or not for this user"
act <<'A'
probe uffd
A
judge forbid
