#!/bin/bash
. "${0%/*}/../lib.sh"
needs root
act <<'A'
probe chroot
A
judge forbid
