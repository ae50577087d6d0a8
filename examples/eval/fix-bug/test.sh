got=$(sh sum.sh 1 2 3)
[ "$got" = 6 ] || { echo "sum of 1 2 3: got $got, want 6"; exit 1; }
