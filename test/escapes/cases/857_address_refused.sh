#!/bin/bash
. "${0%/*}/../lib.sh"
egress
allowed_host
act <<'A'
probe get "http://$SERVERIP/" proxy
probe connect "$SERVERIP:443" "[::ffff:$SERVERIP]:443"
probe get "http://$SERVERIP/" direct
probe handshake "$SERVERIP:443" -
A
act_of_control <<'A'
probe get "http://$SERVERIP/" direct
A
CONTROL=bare
judge forbid
