#!/bin/bash
. "$(dirname "$0")/../lib.sh"
needs root
act <<'A'
probe chroot
A
judge forbid
