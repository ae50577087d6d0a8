#!/bin/bash
. "${0%/*}/../lib.sh"
SH=bash
act <<'A'
[ "$(cat <(echo a) <(echo b) | tr -d '\n')" = ab ]
diff <(seq 3) <(seq 3)
cat <<E >h
here $((1 + 1))
E
grep -q 'here 2' h
echo x >/dev/stdout; echo y >/dev/stderr; echo z >/dev/null
t=$(mktemp); echo 1 >"$t"; rm "$t"; d=$(mktemp -d); rmdir "$d"
mkfifo p; echo through >p & read -r got <p; [ "$got" = through ]
[ "$(head -c 16 /dev/urandom | wc -c)" = 16 ]
[ "$(head -c 16 /dev/zero | wc -c)" = 16 ]
seq 100000 | tail -1 | grep -qx 100000
exec 5>file; echo five >&5; exec 5>&-; grep -q five file
find . -type f | xargs ls >/dev/null
sed -i s/five/six/ file; grep -q six file
A
judge allow
