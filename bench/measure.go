package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Gate is the contestant that the others are divided by.
const Gate = "callgate"

// A Row is a cell measured: medians over the rounds.
type Row struct {
	Work
	Nanoseconds float64 // an operation
	Allocs      int64
	Bytes       int64
	// Ratio is the time of this contestant divided by the gate's in the same
	// round, the median of the rounds; 0 if the gate does not do this work.
	Ratio float64
	// Low and High are the least and the greatest of the rounds' ratios: how
	// far to trust it on a noisy machine.
	Low, High float64
}

// Measure runs works in turn, rounds times over, so that a machine that slows
// down slows all of them down. Each run takes about the -test.benchtime. It
// reports the start of each round to progress.
func Measure(works []Work, rounds int, progress func(round int)) ([]Row, error) {
	ns := make([][]float64, len(works))
	rows := make([]Row, len(works))
	for round := range rounds {
		progress(round)
		for i, w := range works {
			r := testing.Benchmark(w.Run)
			if r.N == 0 {
				return nil, fmt.Errorf("%s failed", w.Name())
			}
			ns[i] = append(ns[i], float64(r.T.Nanoseconds())/float64(r.N))
			rows[i] = Row{Work: w, Allocs: r.AllocsPerOp(), Bytes: r.AllocedBytesPerOp()}
		}
	}
	for i, w := range works {
		rows[i].Nanoseconds = median(ns[i])
		gate := slices.IndexFunc(works, func(g Work) bool { return g.Who == Gate && g.Task() == w.Task() })
		if gate < 0 {
			continue
		}
		var ratios []float64
		for round := range rounds {
			ratios = append(ratios, ns[i][round]/ns[gate][round])
		}
		rows[i].Ratio, rows[i].Low, rows[i].High = median(ratios), slices.Min(ratios), slices.Max(ratios)
	}
	return rows, nil
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// Fastest returns the fastest contestant of a task that checks the whole schema,
// the gate and its tiers aside.
func Fastest(rows []Row, task string) (Row, bool) {
	var best Row
	for _, r := range rows {
		rival := r.Task() == task && r.Checks == "schema" && r.Who != Gate && !strings.HasPrefix(r.Who, Gate+"/")
		if rival && (best.Who == "" || r.Nanoseconds < best.Nanoseconds) {
			best = r
		}
	}
	return best, best.Who != ""
}

// WriteRows writes one Markdown table for each task.
func WriteRows(w io.Writer, rows []Row) {
	task := ""
	for _, r := range rows {
		if r.Task() != task {
			task = r.Task()
			fmt.Fprintf(w, "\n### %s\n\n", task)
			if best, ok := Fastest(rows, task); ok {
				fmt.Fprintf(w, "The fastest peer that validates is %s, at %.1f × the gate's time.\n\n", best.Who, best.Ratio)
			}
			fmt.Fprint(w, "| by | checks | time/op | allocs/op | B/op | time ÷ callgate | (least – greatest) |\n|---|---|--:|--:|--:|--:|--:|\n")
		}
		ratio, spread := "–", "–"
		if r.Ratio > 0 {
			ratio, spread = fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.2f – %.2f", r.Low, r.High)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %d | %d | %s | %s |\n", r.Who, r.Checks, duration(r.Nanoseconds), r.Allocs, r.Bytes, ratio, spread)
	}
}

func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	}
	return fmt.Sprintf("%.2f ms", ns/1e6)
}

// WriteFacts writes facts as a Markdown table with a column for each contestant.
func WriteFacts(w io.Writer, names []string, facts []Fact) {
	fmt.Fprintf(w, "| | %s |\n|---%s|\n", strings.Join(names, " | "), strings.Repeat("|---", len(names)))
	for _, f := range facts {
		fmt.Fprintf(w, "| %s | %s |\n", f.Question, strings.Join(f.Answers, " | "))
	}
}
