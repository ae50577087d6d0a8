#!/bin/bash
. "${0%/*}/../lib.sh"
# The first request on a connection is to the allowed name, the second to another
# one, which the same server would answer.
egress
FLAGS=(--net allow --allow-host "$NAME" --test-resolve "$NAME=$SERVERIP" --test-resolve "$OTHERNAME=$SERVERIP")
act <<'A'
probe two "$NAME:80" "$NAME" "$OTHERNAME"
proxy=${HTTP_PROXY#http://}
ABSOLUTE=1 probe two "${proxy%/}" "$NAME" "$OTHERNAME"
A
act_of_control <<'A'
probe two "$SERVERIP:80" "$NAME" "$OTHERNAME"
A
CONTROL=bare
ran() { grep -qax "$MARK" "$R/stdout" && [ "$(grep -ca '^first answered' "$R/stdout")" -ge 1 ]; }
judge forbid
