#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe mknod "$WS"
probe mknod "${TMPDIR:-/tmp}"
A
judge forbid
