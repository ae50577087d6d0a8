#!/bin/bash
. "${0%/*}/../lib.sh"
[ -n "${SERVERIP:-}" ] || skip "only root can have a server at port 80"
act <<'A'
probe get "http://$SERVERIP/" direct
probe handshake "$SERVERIP:443" -
for port in 53 80 443 3128 8080; do probe dial tcp 127.0.0.1:$port; done
probe lookup example.com
env | grep -i '_proxy=' | sed 's/^/DID have /'
A
act_of_control <<'A'
probe get "http://$SERVERIP/" direct
A
prepare() { give SERVERIP "$SERVERIP"; }
judge forbid
