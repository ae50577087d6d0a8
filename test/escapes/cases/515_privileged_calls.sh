#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe privileged
A
judge forbid
