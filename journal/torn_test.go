//go:build unix

package journal_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/callgate/callgate/journal"
)

// tears are what may have become of SQLite's log from an offset on.
var tears = []struct {
	name string
	tear func(log []byte, from int, rng *rand.Rand) []byte
}{
	{"cut off", func(log []byte, from int, _ *rand.Rand) []byte { return log[:from] }},
	{"zeros", func(log []byte, from int, _ *rand.Rand) []byte { return resize(log[:from:from], len(log), nil) }},
	{"garbage", func(log []byte, from int, rng *rand.Rand) []byte {
		return resize(log[:from:from], len(log)+5000, rng)
	}},
	{"one bit flipped", func(log []byte, from int, rng *rand.Rand) []byte {
		log = bytes.Clone(log)
		if from < len(log) {
			log[from] ^= 1 << rng.IntN(8)
		}
		return log
	}},
}

// killed returns what a process that was killed left behind: its history, the
// database, and the log that was never emptied into it; and its chain's head.
func killed(t *testing.T) (h *history, db, log []byte, head journal.Head) {
	d := newDisk(t, scratch(t), &disk{checkpoints: 1 << 20})
	defer d.unplug()
	l, err := d.open(t)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h = &history{Turns: 4}
	for n := range h.Turns {
		l.submit(n, h.turn(n)...)
	}
	if head, err = l.Head(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.owners(t, d)
	h.Events = slices.Clone(d.events)
	for name, into := range map[string]*[]byte{"journal.db": &db, "journal.db-wal": &log} {
		if *into, err = os.ReadFile(filepath.Join(d.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return h, db, log, head
}

// told returns the notes of what happened while no more than size bytes of the log
// were needed for it.
func (h *history) told(size int) (notes []event) {
	ends, log := map[int]int{}, -1
	for _, e := range h.Events {
		switch {
		case e.Op == "create" && e.Name == "journal.db-wal":
			log = e.File
		case e.Op == "write":
			ends[e.File] = max(ends[e.File], int(e.At)+len(e.Data))
		case e.Op == "sync" && e.File == log && ends[log] > size:
			return notes
		case e.note():
			notes = append(notes, e)
		}
	}
	return notes
}

// The log of a process that was killed is torn anywhere: what was synced before that
// place is kept, what is after it is ignored, and the journal goes on.
func TestTornLog(t *testing.T) {
	step := 31*sector + 13
	switch {
	case raced || testing.Short():
		step = 211*sector + 13
	case os.Getenv("CI") != "":
		step = 12*sector + 13
	}
	h, db, log, _ := killed(t)
	for i := 0; i*step < len(log)+step; i++ {
		from, tear := min(i*step, len(log)), tears[i%len(tears)]
		if i%8 > 3 {
			from = max(0, from-1) // within a sector
		}
		rng := rand.New(rand.NewPCG(uint64(i), 0))
		d := plug(t, []named{{"journal.db", db}, {"journal.db-wal", tear.tear(log, from, rng)}}, &disk{forget: true, events: h.told(from)})
		after := *h
		for _, fault := range after.check(t, d) {
			t.Errorf("%s from byte %d of %d: %s", tear.name, from, len(log), fault)
		}
		d.unplug()
		os.RemoveAll(d.dir)
	}
}

// A head that was kept elsewhere tells what a torn log has lost.
func TestTornLogIsNamed(t *testing.T) {
	_, db, log, head := killed(t)
	for _, keep := range []int{len(log), len(log) / 2, 0} {
		d := plug(t, []named{{"journal.db", db}, {"journal.db-wal", log[:keep]}}, &disk{forget: true})
		defer d.unplug()
		l, err := d.open(t)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := l.Verify(context.Background(), journal.Head{}); err != nil {
			t.Errorf("%d of %d bytes: the chain that is left: %v", keep, len(log), err)
		}
		_, err = l.Verify(context.Background(), head)
		if broken, ok := errors.AsType[*journal.Broken](err); (err == nil) != (keep == len(log)) || err != nil && (!ok || broken.Row > head.Rows) {
			t.Errorf("%d of %d bytes: %v", keep, len(log), err)
		}
	}
}
