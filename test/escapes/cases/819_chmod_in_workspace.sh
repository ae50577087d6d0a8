#!/bin/bash
. "${0%/*}/../lib.sh"
act <<'A'
echo '#!/bin/sh' >s; chmod +x s; ./s; chmod 600 s; chmod 755 s
touch -d 2001-01-01 s; [ "$(stat -c %Y s)" -lt 1000000000 ]
mkdir -m 700 d; chmod 1777 d
install -m 644 s d/s
cp -p s t
umask 077; echo >u; [ "$(stat -c %a u)" = 600 ]
A
judge allow
