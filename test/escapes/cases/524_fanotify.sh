#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="the kernel has no fanotify, or not for this user"
act <<'A'
probe fanotify
A
judge forbid
