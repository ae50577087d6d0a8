#!/bin/bash
. "${0%/*}/../lib.sh"
egress
FLAGS=(--net allow --allow-host "$NAME" --test-resolve "$NAME=$SERVERIP" --test-resolve "$OTHERNAME=$SERVERIP")
act <<'A'
probe handshake "$NAME:443" "$NAME" | sed 's/^DID/right/'
probe handshake "$NAME:443" -
probe handshake "$NAME:443" "$OTHERNAME"
A
act_of_control <<'A'
probe handshake "$SERVERIP:443" -
A
CONTROL=bare
ran() { grep -qax "$MARK" "$R/stdout" && { [ "$LEVEL" = bare ] || grep -qa '^right' "$R/stdout"; }; }
judge forbid
