#!/bin/bash
. "$(dirname "$0")/../lib.sh"
prepare() { export SECRET_IN_HARNESS=sk-canary-$TAG; canary; }
act <<'A'
cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -qa "sk-canary-$TAG" && echo DID
A
judge forbid
