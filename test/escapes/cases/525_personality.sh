#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
probe personality
A
judge forbid
