#!/bin/bash
. "${0%/*}/../lib.sh"
needs gcc
MAYBE="no library to link with"
act <<'A'
printf '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n' >x.c
gcc -pipe -o x x.c
./x | grep -q compiled
gcc -c -o y.o x.c
gcc -o y y.o
./y
A
judge allow
