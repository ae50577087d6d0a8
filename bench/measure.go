package bench

import (
	"context"
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
	Nanoseconds float64 // an operation, by the clock on the wall
	CPU         float64 // nanoseconds an operation of all threads, the collector's included; 0 if not known
	Allocs      int64
	Bytes       int64
	// Ratio is the time of this contestant divided by the gate's in the same
	// round, the median of the rounds; 0 if the gate does not do this work.
	Ratio float64
	// Low and High are the least and the greatest of the rounds' ratios: how
	// far to trust it on a noisy machine. CPURatio is Ratio for the CPU time,
	// which other people's programs disturb less.
	Low, High, CPURatio float64
}

// Measure runs works in turn, rounds times over, so that a machine that slows
// down slows all of them down. Each run takes about the -test.benchtime. It
// reports the start of each round to progress.
func Measure(works []Work, rounds int, progress func(round int)) ([]Row, error) {
	rows := make([]Row, len(works))
	ns, cpu := make([][]float64, len(works)), make([][]float64, len(works))
	for round := range rounds {
		progress(round)
		for i, w := range works {
			before := cpuTime()
			r := testing.Benchmark(w.Run)
			used := cpuTime() - before
			if r.N == 0 {
				return nil, fmt.Errorf("%s failed", w.Name())
			}
			ns[i] = append(ns[i], float64(r.T.Nanoseconds())/float64(r.N))
			cpu[i] = append(cpu[i], float64(used.Nanoseconds())/float64(r.N))
			rows[i] = Row{Work: w, Allocs: r.AllocsPerOp(), Bytes: r.AllocedBytesPerOp()}
		}
	}
	compare(rows, ns, cpu)
	return rows, nil
}

// compare fills in what follows from the times of row i in each round, ns[i] by
// the clock and cpu[i] by the processor.
func compare(rows []Row, ns, cpu [][]float64) {
	for i := range rows {
		r := &rows[i]
		r.Nanoseconds, r.CPU = median(ns[i]), median(cpu[i])
		gate := slices.IndexFunc(rows, func(g Row) bool { return g.Who == Gate && g.Task() == r.Task() })
		if gate < 0 {
			continue
		}
		ratios := quotients(ns[i], ns[gate])
		r.Ratio, r.Low, r.High = median(ratios), slices.Min(ratios), slices.Max(ratios)
		r.CPURatio = median(quotients(cpu[i], cpu[gate]))
	}
}

// quotients divides round by round.
func quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range a {
		if b[i] > 0 {
			q[i] = a[i] / b[i]
		}
	}
	return q
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
				fmt.Fprintf(w, "The fastest peer that validates is %s, at %.1f × the gate's time (%.1f × its CPU).\n\n", best.Who, best.Ratio, best.CPURatio)
			}
			fmt.Fprint(w, "| by | checks | time/op | CPU/op | allocs/op | B/op | time ÷ callgate | (least – greatest) | CPU ÷ callgate |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
		}
		ratio, spread, cpuRatio := "–", "–", "–"
		if r.Ratio > 0 {
			ratio, spread = fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.2f – %.2f", r.Low, r.High)
		}
		if r.CPURatio > 0 {
			cpuRatio = fmt.Sprintf("%.2f", r.CPURatio)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", r.Who, r.Checks, duration(r.Nanoseconds), duration(r.CPU), r.Allocs, r.Bytes, ratio, spread, cpuRatio)
	}
}

func duration(ns float64) string {
	switch {
	case ns == 0:
		return "–"
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.2f µs", ns/1e3)
	}
	return fmt.Sprintf("%.2f ms", ns/1e6)
}

// WriteCorrectness asks everybody and writes both tables of facts.
func WriteCorrectness(ctx context.Context, w io.Writer) {
	var peers, engines []string
	for _, p := range Peers() {
		peers = append(peers, p.Name)
	}
	for _, e := range Engines() {
		if e.Checks == "schema" {
			engines = append(engines, e.Name)
		}
	}
	fmt.Fprint(w, "## What becomes of a bad call\n\n")
	WriteFacts(w, peers, Facts(ctx))
	fmt.Fprint(w, "\n## What an engine says of bad arguments\n\n")
	WriteFacts(w, engines, EngineFacts())
}

// WriteFacts writes facts as a Markdown table with a column for each contestant.
func WriteFacts(w io.Writer, names []string, facts []Fact) {
	fmt.Fprintf(w, "| | %s |\n|---%s|\n", strings.Join(names, " | "), strings.Repeat("|---", len(names)))
	for _, f := range facts {
		fmt.Fprintf(w, "| %s | %s |\n", f.Question, strings.Join(f.Answers, " | "))
	}
}
