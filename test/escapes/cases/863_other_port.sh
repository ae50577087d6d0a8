#!/bin/bash
. "${0%/*}/../lib.sh"
egress
allowed_host
prepare() { server; }
act <<'A'
probe connect "$NAME:${TCP##*:}" "$NAME:22" "$NAME:25"
probe get "http://$NAME:${TCP##*:}/" proxy
probe dial tcp "$NAME:${TCP##*:}"
A
act_of_control <<'A'
probe dial tcp "$TCP"
A
CONTROL=bare
judge forbid
