#!/bin/bash
. "${0%/*}/../lib.sh"
egress
act <<'A'
probe get "https://$NAME/" proxy
A
act_of_control <<'A'
probe get "https://$SERVERIP/" direct
A
allowed_host
judge allow
