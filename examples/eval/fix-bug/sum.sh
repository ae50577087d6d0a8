# prints the sum of its arguments
sum=0
for n in "$@"; do
	sum=$((sum - n))
done
echo "$sum"
