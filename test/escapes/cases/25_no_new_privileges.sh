#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
s=$(cat /proc/self/status)
for want in 'NoNewPrivs:	1' 'Seccomp:	2' 'CapEff:	0000000000000000' 'CapPrm:	0000000000000000' 'CapBnd:	0000000000000000' 'CapAmb:	0000000000000000' 'CapInh:	0000000000000000'; do
	case $s in *"$want"*) ;; *) echo "DID lack $want" ;; esac
done
A
judge forbid
