#!/bin/bash
. "${0%/*}/../lib.sh"
egress
act <<'A'
probe handshake "$NAME:443" "$NAME"
probe get "https://$NAME/" direct
A
act_of_control <<'A'
probe handshake "$SERVERIP:443" "$NAME"
A
allowed_host
judge allow
