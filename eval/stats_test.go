package eval

import (
	"math"
	"math/bits"
	"testing"
	"time"
)

// The estimator of pass@k, beside values that were computed by hand.
func TestPassAt(t *testing.T) {
	for _, test := range []struct {
		n, c, k int
		want    float64
	}{
		{1, 0, 1, 0},
		{1, 1, 1, 1},
		{4, 1, 1, 1.0 / 4},
		{4, 1, 2, 1.0 / 2},   // 1 - C(3,2)/C(4,2) = 1 - 3/6
		{5, 2, 3, 9.0 / 10},  // 1 - C(3,3)/C(5,3) = 1 - 1/10
		{10, 3, 2, 8.0 / 15}, // 1 - C(7,2)/C(10,2) = 1 - 21/45
		{10, 3, 8, 1},        // fewer than 8 failed
		{10, 0, 10, 0},
		{10, 1, 10, 1},
		{200, 1, 100, 1.0 / 2}, // where C(200,100) has 59 digits
		{0, 0, 1, 0},           // no trial, nothing passed
		{3, 3, 5, 1},           // more than there are: all of them
		{3, 0, 5, 0},
	} {
		if got := PassAt(test.n, test.c, test.k); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("pass@%d of %d passes in %d trials is %v, want %v", test.k, test.c, test.n, got, test.want)
		}
	}
}

// It is the share of all choices of k trials that have a pass among them.
func TestPassAtCountsChoices(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for c := 0; c <= n; c++ {
			passed := uint(1)<<c - 1 // the first c trials
			for k := 1; k <= n; k++ {
				all, lucky := 0, 0
				for choice := range uint(1) << n {
					if bits.OnesCount(choice) != k {
						continue
					}
					all++
					if choice&passed != 0 {
						lucky++
					}
				}
				if got, want := PassAt(n, c, k), float64(lucky)/float64(all); math.Abs(got-want) > 1e-12 {
					t.Errorf("pass@%d of %d passes in %d trials is %v, want %v", k, c, n, got, want)
				}
			}
		}
	}
}

// A percentile is the smallest value that so many percent do not exceed.
func TestPercentile(t *testing.T) {
	seconds := func(values ...int) (list []time.Duration) {
		for _, v := range values {
			list = append(list, time.Duration(v)*time.Second)
		}
		return list
	}
	twenty := seconds(20, 1, 19, 2, 18, 3, 17, 4, 16, 5, 15, 6, 14, 7, 13, 8, 12, 9, 11, 10)
	for _, test := range []struct {
		values []time.Duration
		p      int
		want   int
	}{
		{nil, 95, 0},
		{seconds(7), 50, 7},
		{seconds(7), 95, 7},
		{seconds(2, 1), 50, 1},
		{seconds(3, 1, 2), 50, 2},
		{seconds(3, 1, 2), 95, 3},
		{twenty, 50, 10},
		{twenty, 95, 19},
		{append(twenty, seconds(21)...), 95, 20},
		{twenty, 100, 20},
	} {
		if got := percentile(test.values, test.p); got != time.Duration(test.want)*time.Second {
			t.Errorf("p%d of %v is %v, want %ds", test.p, test.values, got, test.want)
		}
	}
	if twenty[0] != 20*time.Second {
		t.Error("the values were sorted in place")
	}
}
