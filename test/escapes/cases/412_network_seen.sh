#!/bin/bash
. "${0%/*}/../lib.sh"
prepare() { server; }
act <<'A'
port=$(printf '%04X' "${TCP##*:}")
grep -q ":$port " /proc/net/tcp && echo "DID see the port"
grep -q "${ABSTRACT}" /proc/net/unix && echo "DID see the socket"
A
judge forbid
