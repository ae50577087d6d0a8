#!/bin/bash
. "${0%/*}/../lib.sh"
egress
FLAGS=(--net allow --allow-host "$NAME" --test-resolve "$NAME=$SERVERIP" --test-resolve "$OTHERNAME=$SERVERIP")
act <<'A'
probe get "http://$OTHERNAME/" proxy
probe connect "$OTHERNAME:443"
probe get "http://$NAME/" proxy | sed 's/^DID/right/'
A
CONTROL=bare
act_of_control <<'A'
probe get "http://$SERVERIP/" direct
A
# What the program sees of the refusal of HTTP, and what callgate says at the end.
did() {
	grep -qa ^DID "$R/stdout" && return 0
	grep -a 'tried' "$R/stdout" | grep -a "$OTHERNAME" | grep -qa 'allow-host' || return 0
	! grep -a "$OTHERNAME" "$R/stderr" | grep -qa 'allow-host'
}
judge forbid
