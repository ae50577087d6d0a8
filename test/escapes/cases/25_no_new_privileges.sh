#!/bin/bash
. "${0%/*}/../lib.sh"
# Where it stands, only root can give up what a program could get from a setuid file.
prepare() { if [ "$LEVEL" = confined ] && [ "$EUID" != 0 ]; then give BND ""; else give BND 'CapBnd:	0000000000000000'; fi; }
act <<'A'
s=$(cat /proc/self/status)
for want in 'NoNewPrivs:	1' 'Seccomp:	2' 'CapEff:	0000000000000000' 'CapPrm:	0000000000000000' "$BND" 'CapAmb:	0000000000000000' 'CapInh:	0000000000000000'; do
	case $s in *"$want"*) ;; *) echo "DID lack $want" ;; esac
done
A
judge forbid
