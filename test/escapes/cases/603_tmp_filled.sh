#!/bin/bash
. "${0%/*}/../lib.sh"
# What it takes is memory of the machine, given back at once. All private directories
# together have to leave some: what lies there stays when processes are killed.
CONTROL=harm
needs heavy
FIRST=1
act <<'A'
while read -r name kb _; do [ "$name" = MemTotal: ] && break; done </proc/meminfo
n=3000000000
[ "$(stat -f -c %T "${TMPDIR:-/tmp}")" != tmpfs ] || n=$((kb * 1024 / 10 * 3))
probe fill "${TMPDIR:-/tmp}" "$n"
rm -f "${TMPDIR:-/tmp}"/fill*
sum=0 seen=" "
for d in /tmp /var/tmp /dev/shm; do
	[ -w "$d" ] || continue
	set -- $(stat -f -c '%i %b %S' "$d")
	case $seen in *" $1 "*) continue ;; esac
	seen="$seen$1 " sum=$((sum + $2 * $3 / 1024))
done
echo "tried: private directories hold $sum of $kb kB"
[ "$sum" -lt $((kb / 10 * 8)) ] || echo "DID find room for more than the machine has"
A
judge forbid
