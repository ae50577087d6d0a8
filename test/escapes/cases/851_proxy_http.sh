#!/bin/bash
. "${0%/*}/../lib.sh"
egress
act <<'A'
probe get "http://$NAME/" "$WAY"
A
act_of_control <<'A'
probe get "http://$SERVERIP/" direct
A
allowed_host
prepare() { give WAY proxy; }
judge allow
