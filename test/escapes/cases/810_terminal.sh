#!/bin/bash
. "${0%/*}/../lib.sh"
needs python3 script
act <<'A'
/usr/bin/python3 -c 'import pty, sys; sys.exit(pty.spawn(["tty"]))' </dev/null
script -qec 'stty size; echo in a terminal' /dev/null </dev/null | grep -q 'in a terminal'
A
judge allow
