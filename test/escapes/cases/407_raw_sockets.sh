#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe raw
A
judge forbid
