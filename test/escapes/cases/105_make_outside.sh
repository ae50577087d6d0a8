#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
mkdir "$OUT/d"
mkfifo "$OUT/p"
ln -s /etc/passwd "$OUT/l"
/usr/bin/perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1)' "$OUT/s"
A
did() { [ "$(ls "$OUT" | wc -l)" != 2 ]; }
judge forbid
