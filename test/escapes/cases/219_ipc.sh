#!/bin/bash
. "${0%/*}/../lib.sh"
# A segment of System V has no path, and belongs to whoever shares the namespace.
needs ipcs ipcmk ipcrm
prepare() { ID=$(ipcmk -M 4096 | grep -o '[0-9]*$'); give ID "$ID"; }
act <<'A'
ipcrm -m "$ID"
A
did() { if ipcs -m -i "$ID" 2>/dev/null | grep -q "shmid=$ID"; then ipcrm -m "$ID"; return 1; fi; }
judge forbid
