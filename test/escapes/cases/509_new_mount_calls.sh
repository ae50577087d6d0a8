#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe newmount
A
judge forbid
