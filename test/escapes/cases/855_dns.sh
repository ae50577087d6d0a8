#!/bin/bash
. "${0%/*}/../lib.sh"
# The act is a forbidden one, but has to show that the allowed name is found. The
# control looks a name up that the system knows.
egress
act <<'A'
probe lookup "$NAME" | sed 's/^DID lookup/found/'
probe lookup "other.$NAME" other.example localhost.example "secret-data.$OTHERNAME" example.com
A
act_of_control <<'A'
probe lookup localhost
A
allowed_host
ran_before() { tr -d '\r' <"$R/stdout" | grep -qax "$MARK"; }
ran() { ran_before && { [ "$LEVEL" = bare ] || grep -qa "^found $NAME" "$R/stdout"; }; }
CONTROL=bare
judge forbid
