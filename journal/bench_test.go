package journal

import (
	"testing"
	"time"
)

// What a journal adds to a read of a held session: compare journal, whose rows are
// moved while the clock stands, with none. In flow they are moved as fast as they
// come, and what that costs is counted. cpu-ns/op is the CPU time of the process: on a
// machine that others use too it says more than the clock.
func BenchmarkRead(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		g := newRig(b, Options{}, nil)
		g.gate.Executor = nil
		benchmarkReads(b, g, func() error { return nil })
	})
	b.Run("journal", func(b *testing.B) {
		g := newRig(b, Options{}, nil)
		holdSession(b, g.Journal, "s")
		benchmarkReads(b, g, g.flush)
	})
	b.Run("flow", func(b *testing.B) {
		g := newRig(b, Options{}, nil)
		holdSession(b, g.Journal, "s")
		benchmarkReads(b, g, func() error { return nil })
	})
	b.Run("not-held", func(b *testing.B) {
		benchmarkReads(b, newRig(b, Options{}, nil), func() error { return nil })
	})
}

// benchmarkReads calls between now and then, and does not count it.
func benchmarkReads(b *testing.B, g *rig, between func() error) {
	var aside time.Duration
	start, turn := cpuTime(), 0
	for b.Loop() {
		turn++
		if r := g.submit(turn, 1, "read")[0]; r.Code != "" || r.Recorded {
			b.Fatal(r)
		}
		if turn%(spoolEarly/2) == 0 {
			b.StopTimer()
			before := cpuTime()
			if err := between(); err != nil {
				b.Fatal(err)
			}
			aside += cpuTime() - before
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(cpuTime()-start-aside)/float64(turn), "cpu-ns/op")
}

// The same for a turn of eight calls.
func BenchmarkReadsOfATurn(b *testing.B) {
	g := newRig(b, Options{}, nil)
	holdSession(b, g.Journal, "s")
	turn := 0
	for b.Loop() {
		turn++
		g.submit(turn, 8, "read")
	}
}

// A once-only call, with the disk's part.
func BenchmarkOnce(b *testing.B) {
	g := newRig(b, Options{}, nil)
	turn := 0
	for b.Loop() {
		turn++
		if r := g.submit(turn, 1, "once")[0]; r.Code != "" {
			b.Fatal(r)
		}
	}
}
