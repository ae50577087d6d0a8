#!/bin/bash
. "${0%/*}/../lib.sh"
needs make
prepare() { printf 'all: a.out\n\na.out: x\n\tcp x $@\n\t@echo made >>$@\nclean:\n\trm -f a.out\n' >Makefile; echo x >x; }
act <<'A'
make -j2
[ "$(tail -1 a.out)" = made ]
make clean
A
judge allow
