#!/bin/bash
. "$(dirname "$0")/../lib.sh"
needs root
act <<'A'
probe raw
A
judge forbid
