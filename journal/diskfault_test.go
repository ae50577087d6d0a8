//go:build unix

package journal_test

import (
	"context"
	"os"
	"slices"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// failures are the ways in which SQLite's operations on files fail.
var failures = []struct {
	name, op string
	code     int32
}{
	{"full disk", "write", sqlite3.SQLITE_FULL},
	{"write error", "write", sqlite3.SQLITE_IOERR_WRITE},
	{"sync error", "sync", sqlite3.SQLITE_IOERR_FSYNC},
	{"truncate error", "truncate", sqlite3.SQLITE_IOERR_TRUNCATE},
	{"delete error", "delete", sqlite3.SQLITE_IOERR_DELETE},
}

// Each operation on the files fails in each way, alone or with all that follow it
// until the disk is well again: a call is answered as what became of it, runs once,
// and not at all if it has no claim; what was answered stays so; and then the
// journal goes on, here, in the next process, and after a power cut.
func TestDiskFails(t *testing.T) {
	step := 23
	switch {
	case raced || testing.Short():
		step = 97
	case os.Getenv("CI") != "":
		step = 9
	}
	for _, f := range failures {
		for _, lasts := range []bool{false, true} {
			t.Run(f.name+map[bool]string{true: " from then on"}[lasts], func(t *testing.T) {
				t.Parallel()
				failEach(t, step, 1, f.op, func() (*history, *disk) { return new(history), &disk{checkpoints: 8} }, func(n, nth int) int32 {
					if n == nth || lasts && n > nth {
						return f.code
					}
					return 0
				})
			})
		}
	}
}

// Where every commit is synced, a kernel that drops what it could not write when a
// sync failed, and says nothing of it at the next one, costs nothing but the call
// whose sync failed.
func TestDroppedByASync(t *testing.T) {
	step, cuts := 2, uint64(2)
	switch {
	case raced || testing.Short():
		step, cuts = 5, 1
	case os.Getenv("CI") != "":
		step, cuts = 1, 2
	}
	failEach(t, step, cuts, "sync", func() (*history, *disk) { return &history{Synced: true}, &disk{checkpoints: 40, drops: true} }, func(n, nth int) int32 {
		if n == nth {
			return sqlite3.SQLITE_IOERR_FSYNC
		}
		return 0
	})
}

// failEach lets the operation fail that is the first of its kind, and then one that is
// step later, until there are no more. Each time the power is cut in so many ways.
func failEach(t *testing.T, step int, cuts uint64, op string, begin func() (*history, *disk), fails func(n, nth int) int32) {
	reached := 0
	for nth := 0; !t.Failed(); nth += step {
		h, d := begin()
		n := 0
		d.fault = func(this string) (rc int32) {
			if this == op {
				if rc = fails(n, nth); rc != 0 && h.Notes == 0 {
					h.Notes = len(d.events) // the power is cut after that
				}
				n++
			}
			return rc
		}
		h.diskFails(t, d, cuts)
		if t.Failed() {
			t.Logf("it was %s %d that failed", op, nth)
		}
		if n <= nth {
			break
		}
		reached++
	}
	if reached == 0 {
		t.Errorf("no %s failed", op)
	}
}

// diskFails submits turns while the disk fails, and again when it is well.
func (h *history) diskFails(t *testing.T, d *disk, cuts uint64) {
	plug(t, nil, d)
	defer os.RemoveAll(d.dir)
	defer d.unplug()
	heal := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.fault = nil
	}

	l, err := d.open(t)
	if err != nil { // says so, and does no harm
		heal()
		if l, err = d.open(t); err != nil {
			t.Errorf("the disk is well again: %v", err)
			return
		}
	}
	h.Turns = 4
	before := map[callgate.Identity]callgate.Result{}
	for n := range h.Turns {
		for i, r := range l.submit(n, h.turn(n)...) {
			before[callgate.Identity{Session: "s", Turn: n, Index: i}] = r
		}
	}
	ran := d.effects()
	for id, r := range before {
		switch {
		case r.Code == callgate.Internal && (r.State != callgate.NotStarted || ran[id] != 0),
			r.Code == callgate.OutcomeUnknown && ran[id] != 1,
			r.Code == "" && ran[id] != 1,
			r.Code != callgate.Internal && r.Code != callgate.OutcomeUnknown && r.Code != "":
			t.Errorf("call %s ran %d times and is answered %q, state %s", id, ran[id], r, r.State)
		}
	}
	heal()
	for n := range h.Turns {
		for i, r := range l.submit(n, h.turn(n)...) {
			id := callgate.Identity{Session: "s", Turn: n, Index: i}
			if b := before[id]; b.Code != callgate.Internal && final(h.turn(n)[i].Name, answerOf(b)) && r.Code != b.Code ||
				b.Code == callgate.Internal && (r.Recorded || r.Code == callgate.Internal) {
				t.Errorf("call %s is answered %q when the disk is well again; before: %q", id, r, b)
			}
		}
	}

	h.owners(t, d)
	if _, err := l.Verify(context.Background(), journal.Head{}); err != nil {
		t.Error(err)
	}
	h.Events = slices.Clone(d.events)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	after := *h
	for _, fault := range after.check(t, d) { // the next process
		t.Error(fault)
	}
	for seed := range cuts {
		faults, _ := h.try(t, seed)
		for _, fault := range faults {
			t.Errorf("seed %d: %s", seed, fault)
		}
	}
}

// effects returns how often each call's handler ran.
func (d *disk) effects() map[callgate.Identity]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	ran := map[callgate.Identity]int{}
	for _, e := range d.events {
		if e.Op == "effect" {
			ran[e.ID]++
		}
	}
	return ran
}
