#!/bin/bash
. "${0%/*}/../lib.sh"
SH=bash
act <<'A'
sleep 0.1 & sleep 0.1 & wait
(exit 3) & wait $! || [ $? = 3 ]
sleep 30 & kill $!; wait $! || [ $? = 143 ]
trap 'echo got' USR1; kill -USR1 $BASHPID
timeout 0.2 sleep 5 || [ $? = 124 ]
nohup true >/dev/null
setsid true
nice -n 5 true
A
judge allow
