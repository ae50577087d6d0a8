#!/bin/bash
. "${0%/*}/../lib.sh"
# Names that the system itself gives an address of this machine.
egress
FLAGS=(--net allow --allow-host localhost --allow-host "*.localhost" --allow-host "$(hostname)")
act <<'A'
for name in localhost x.localhost "$HOST"; do
	probe get "http://$name/" proxy
	probe connect "$name:80" "$name:443"
	probe two "$SERVERIP:80" "$name" "$name"
done
A
act_of_control <<'A'
probe get "http://$SERVERIP/" direct
A
CONTROL=bare
prepare() { give HOST "$(hostname)"; }
judge forbid
