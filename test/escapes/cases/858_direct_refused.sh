#!/bin/bash
. "${0%/*}/../lib.sh"
egress
allowed_host
prepare() { server; }
act <<'A'
probe dial tcp "$TCP"
probe dial tcp "$SERVERIP:${TCP##*:}"
probe send udp "$UDP"
sleep 0.1
A
did() { [ -e "$R/hits" ]; }
CONTROL=bare
judge forbid
