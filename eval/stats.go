package eval

import (
	"cmp"
	"slices"
)

// PassAt returns pass@k: the probability that at least one of k trials passes,
// estimated from c passes in n trials as 1 - C(n-c,k)/C(n,k), which is the share
// of all choices of k of the n trials that have a pass among them. A k beyond n
// counts as n; without trials it is 0.
func PassAt(n, c, k int) float64 {
	k = min(k, n)
	switch {
	case c <= 0 || k <= 0:
		return 0
	case n-c < k:
		return 1
	case k == 1:
		return float64(c) / float64(n) // the same, without rounding
	}
	// C(n-c,k)/C(n,k) as a product, whose factors stay near 1 where the binomial
	// coefficients have hundreds of digits.
	none := 1.0
	for i := n - c + 1; i <= n; i++ {
		none *= 1 - float64(k)/float64(i)
	}
	return 1 - none
}

// percentile returns the smallest of the values that at least p percent of them do
// not exceed (the nearest rank), 0 if there are none.
func percentile[T cmp.Ordered](values []T, p int) T {
	if len(values) == 0 {
		return *new(T)
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}
