package bench

import (
	"fmt"
	"strings"
	"testing"
)

// Ratios are taken within a round: a machine on which each round is much slower
// than the one before changes no ratio, and no median of times could say so.
func TestRatiosWithinRounds(t *testing.T) {
	rows := []Row{
		{Work: Work{Kind: "dispatch", Shape: "small", Who: "slow"}},
		{Work: Work{Kind: "dispatch", Shape: "small", Who: Gate}},
		{Work: Work{Kind: "dispatch", Shape: "other", Who: "alone"}},
	}
	compare(rows, [][]float64{{40, 400, 90}, {10, 100, 30}, {1, 1, 1}}, [][]float64{{6, 60, 8}, {2, 20, 4}, {1, 1, 1}})
	if r := rows[0]; r.Ratio != 4 || r.Low != 3 || r.High != 4 || r.CPURatio != 3 || r.Nanoseconds != 90 {
		t.Errorf("slow: %+v", r)
	}
	if r := rows[1]; r.Ratio != 1 {
		t.Errorf("the gate beside itself: %+v", r)
	}
	if r := rows[2]; r.Ratio != 0 {
		t.Errorf("a task that the gate does not do has a ratio: %+v", r)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{100, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v is %v, not %v", c.of, got, c.want)
		}
	}
}

// The rival of the headline checks the whole schema; who checks less may be faster
// and does not count, and the gate is no rival of itself.
func TestFastest(t *testing.T) {
	row := func(who, checks string, ns float64) Row {
		return Row{Work: Work{Kind: "dispatch", Shape: "small", Who: who, Checks: checks}, Nanoseconds: ns}
	}
	rows := []Row{
		row("callgate", "schema", 1), row("callgate/explain", "schema", 2), row("a", "nothing", 3),
		row("b", "required", 4), row("c", "schema", 90), row("d", "schema", 60),
	}
	if best, ok := Fastest(rows, "dispatch/small"); !ok || best.Who != "d" {
		t.Errorf("the fastest is %q", best.Who)
	}
	if _, ok := Fastest(rows, "dispatch/large"); ok {
		t.Error("a task that nobody did has a fastest")
	}
}

func TestMeasureFailure(t *testing.T) {
	broken := Work{Kind: "k", Shape: "s", Who: "w", Run: func(b *testing.B) { b.Fatal("no") }}
	if _, err := Measure([]Work{broken}, 1, func(int) {}); err == nil {
		t.Error("a work that fails has a number")
	}
}

func ExampleWriteFacts() {
	var b strings.Builder
	WriteFacts(&b, []string{"a", "b"}, []Fact{{"does it?", []string{"yes", "no"}}})
	fmt.Print(b.String())
	// Output:
	// | | a | b |
	// |---|---|---|
	// | does it? | yes | no |
}
