#!/bin/bash
. "${0%/*}/../lib.sh"
MAYBE="no extended attributes on this file system"
act <<'A'
probe xattr "$OUT/f"
A
judge forbid
