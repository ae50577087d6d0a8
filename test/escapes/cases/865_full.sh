#!/bin/bash
. "${0%/*}/../lib.sh"
FLAGS=(--net full)
prepare() { server; }
act <<'A'
probe dial tcp "$TCP" | grep DID
A
judge allow
