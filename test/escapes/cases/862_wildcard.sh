#!/bin/bash
. "${0%/*}/../lib.sh"
egress
FLAGS=(--net allow --allow-host "*.$NAME" --test-resolve "$NAME=$SERVERIP" --test-resolve "a.$NAME=$SERVERIP" --test-resolve "x$NAME=$SERVERIP")
act <<'A'
probe get "http://a.$NAME/" proxy | sed 's/^DID/right/'
probe get "http://$NAME/" proxy
probe get "http://x$NAME/" proxy
probe get "http://a.$NAME./" proxy | sed 's/^DID/right/'
A
act_of_control <<'A'
probe get "http://$SERVERIP/" direct
A
CONTROL=bare
ran() { grep -qax "$MARK" "$R/stdout" && { [ "$LEVEL" = bare ] || grep -qa '^right' "$R/stdout"; }; }
judge forbid
