#!/bin/bash
. "${0%/*}/../lib.sh"
needs heavy python3
MAYBE="no module venv, or no pip in it"
LIMIT=90
act <<'A'
/usr/bin/python3 -m venv v
. v/bin/activate
python -c 'import sys; assert sys.prefix.endswith("/v")'
printf 'print(1)\n' >p.py
v/bin/python p.py
A
judge allow
