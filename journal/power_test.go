//go:build unix

package journal_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A history is what happened on a disk, and outside of it, until it lost power.
type history struct {
	Base   []named // the files at the start, all of them synced
	Events []event
	Notes  int      // events at the start that are notes of an earlier life
	Owners []string // files of processes that had the journal open
	Turns  int      // that were submitted
	Synced bool     // without reads: every call is synced
}

type named struct {
	Name string
	Data []byte
}

const sector = 512

// image returns the files that are there after the power was cut before the event
// cut. What was written to a file before its last sync is there. Each later write is
// there, or is not, or some of its sectors are: sectors are written whole, and bytes
// beside a write stay as they are (SQLite's "powersafe overwrite"). Where a lost write
// would have made the file longer there is nothing, or zeros, or garbage. A later
// truncation has happened or not. What was dropped when a sync failed is not brought to
// the disk by the next one. A name that was made or taken away since the last sync of
// the directory is at any point of its own history.
func (h *history) image(cut int, rng *rand.Rand) []named {
	keep := []float64{0, 0.1, 0.5, 0.9, 1}[rng.IntN(5)]
	torn := []float64{0, 0.5, 1}[rng.IntN(3)] // of those that are not kept
	fill := rng.IntN(3)

	durable, synced, dir := make([]bool, cut), map[int]bool{}, -1
	for i, e := range slices.Backward(h.Events[:cut]) {
		switch e.Op {
		case "sync":
			synced[e.File] = true
		case "dropped":
			synced[e.File] = false
		case "syncdir":
			dir = max(dir, i)
		default:
			durable[i] = synced[e.File]
		}
	}
	data, names := map[int][]byte{}, map[string]int{}
	for i, f := range h.Base {
		data[i], names[f.Name] = bytes.Clone(f.Data), i
	}
	const gone = -1
	later := map[string][]int{} // what a name stood for since the last sync of the directory
	for i, e := range h.Events[:cut] {
		switch e.Op {
		case "create", "delete":
			file := e.File
			if e.Op == "delete" {
				file = gone
			}
			if i < dir {
				names[e.Name] = file
			} else {
				later[e.Name] = append(later[e.Name], file)
			}
		case "truncate":
			if durable[i] || rng.Float64() < keep {
				data[e.File] = resize(data[e.File], int(e.At), nil)
			}
		case "write":
			switch {
			case durable[i] || rng.Float64() < keep:
				data[e.File] = put(data[e.File], e.At, e.Data)
			case rng.Float64() < torn:
				for from := 0; from < len(e.Data); {
					to := min(len(e.Data), from+sector-int(e.At+int64(from))%sector)
					if rng.IntN(2) == 0 {
						data[e.File] = put(data[e.File], e.At+int64(from), e.Data[from:to])
					}
					from = to
				}
			}
			if end := int(e.At) + len(e.Data); end > len(data[e.File]) && fill > 0 {
				garbage := rng
				if fill == 1 {
					garbage = nil
				}
				data[e.File] = resize(data[e.File], end, garbage)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(later)) {
		if n := rng.IntN(len(later[name]) + 1); n > 0 {
			names[name] = later[name][n-1]
		}
	}
	var files []named
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if file := names[name]; file != gone {
			files = append(files, named{name, data[file]})
		}
	}
	for _, name := range h.Owners {
		if rng.IntN(2) == 0 {
			files = append(files, named{name, nil})
		}
	}
	return files
}

// resize cuts a file or makes it longer, with zeros or garbage.
func resize(data []byte, size int, garbage *rand.Rand) []byte {
	for len(data) < size {
		var b byte
		if garbage != nil {
			b = byte(garbage.Uint32())
		}
		data = append(data, b)
	}
	return data[:size]
}

func put(data []byte, at int64, text []byte) []byte {
	if end := int(at) + len(text); end > len(data) {
		data = resize(data, end, nil)
	}
	copy(data[at:], text)
	return data
}

// scratch returns a directory of the test, in memory where the system has such a one:
// thousands of files are made and removed.
func scratch(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "journal-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// plug puts files into a new directory on a disk.
func plug(t testing.TB, files []named, d *disk) *disk {
	t.Helper()
	dir := scratch(t)
	d.live = map[string]int{}
	for i, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		d.live[f.Name] = i
	}
	d.files = len(files)
	return newDisk(t, dir, d)
}

// noting tells the disk of each answer, at the moment in which it is given.
type noting struct {
	callgate.Executor
	*disk
}

func (n noting) Execute(ctx context.Context, x *callgate.Execution) callgate.Outcome {
	out := n.Executor.Execute(ctx, x)
	n.note(event{Op: "answer", ID: x.Call.Identity, Tool: x.Call.Name, Answer: answerOf(out.Result)})
	return out
}

func (n noting) Recall(ctx context.Context, x *callgate.Execution) (callgate.Outcome, bool) {
	out, ok := n.Executor.Recall(ctx, x)
	if ok {
		n.note(event{Op: "answer", ID: x.Call.Identity, Tool: x.Call.Name, Answer: answerOf(out.Result)})
	}
	return out, ok
}

// A life is a process that has the journal of a disk open. Its handlers' effects
// are outside of the disk.
type life struct {
	*journal.Journal
	*gate
	disk *disk
}

func (d *disk) open(t testing.TB) (*life, error) {
	j, err := journal.Open(filepath.Join(d.dir, "journal.db"), journal.Options{
		OnHead: func(h journal.Head) { d.note(event{Op: "head", Head: h}) },
	})
	if err != nil {
		return nil, err
	}
	l := &life{j, newGate(t, noting{j.Executor(nil), d}), d}
	l.do = func(_ context.Context, c callgate.Call, _ int) (callgate.Result, error) {
		d.note(event{Op: "effect", ID: c.Identity, Tool: c.Name})
		if n := c.Identity.Turn + c.Identity.Index; c.Name != "read" && n%7 == 3 {
			return callgate.Result{}, callgate.Errorf(callgate.OutcomeUnknown, "the line went dead")
		}
		return callgate.Text("did " + c.Identity.String() + strings.Repeat(".", c.Identity.Turn%5*700)), nil
	}
	return l, nil
}

// turn returns the calls of a turn: from one to eight, and some of reads only, which
// are not synced.
func (h *history) turn(n int) (calls []callgate.Call) {
	for i := range 1 + n*5%8 {
		tool := []string{"once", "read", "again", "once", "read"}[(n+i)%5]
		if n%4 == 3 {
			tool = "read"
		}
		if tool == "read" && h.Synced {
			tool = "again"
		}
		calls = append(calls, call(tool, fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", (n+i)%6*300))))
	}
	return calls
}

// record lets two processes, one after the other, do the turns, some of them at the
// same time and each of them twice, and returns what happened.
func record(t testing.TB, d *disk) *history {
	t.Helper()
	newDisk(t, scratch(t), d)
	defer d.unplug()
	const turns = 10
	h := &history{Turns: turns}
	for _, half := range [][2]int{{0, turns / 2}, {turns / 2, turns}} {
		l, err := d.open(t)
		if err != nil {
			t.Fatal(err)
		}
		for n := half[0]; n < half[1]; n += 2 {
			var wg sync.WaitGroup
			for _, n := range []int{n, n + 1} {
				wg.Go(func() {
					l.submit(n, h.turn(n)...)
					l.submit(n, h.turn(n)...)
				})
			}
			wg.Wait()
		}
		h.owners(t, d)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h.Events = d.events
	return h
}

func (h *history) owners(t testing.TB, d *disk) {
	files, err := filepath.Glob(filepath.Join(d.dir, "*-owner-*"))
	if err != nil || len(files) == 0 {
		t.Errorf("files of owners: %v, %v", files, err)
	}
	for _, f := range files {
		h.Owners = append(h.Owners, filepath.Base(f))
	}
}

// final reports whether an answer stands for good, whatever happens to the power.
func final(tool string, a answer) bool {
	return tool == "once" && a.State != callgate.NotStarted || tool == "again" && a.State == callgate.Done
}

// Ways in which a journal fails to keep its promises.
const (
	double   = "a call was run twice: "
	lost     = "an answer was forgotten: "
	unknown  = "an effect has no claim: "
	broken   = "the chain is broken: "
	unusable = "the journal cannot be used: "
)

// try cuts the power at a moment that the seed says, and looks at what a new process
// makes of what is left. If that was recorded, next is what happened then: the power
// may be cut again while the journal recovers.
func (h *history) try(t testing.TB, seed uint64) (faults []string, next *history) {
	rng := rand.New(rand.NewPCG(seed, 0))
	cut := h.Notes + rng.IntN(len(h.Events)-h.Notes+1)
	if rng.IntN(2) == 0 { // soon after something happened outside
		for range 20 {
			if i := h.Notes + rng.IntN(len(h.Events)-h.Notes); h.Events[i].note() {
				cut = min(len(h.Events), i+1+rng.IntN(3))
				break
			}
		}
	}
	return h.after(t, cut, rng)
}

// after cuts the power before an event.
func (h *history) after(t testing.TB, cut int, rng *rand.Rand) (faults []string, next *history) {
	files := h.image(cut, rng)
	d := &disk{checkpoints: 20, forget: rng.IntN(4) > 0}
	for _, e := range h.Events[:cut] {
		if e.note() {
			d.events = append(d.events, e)
		}
	}
	plug(t, files, d)
	defer os.RemoveAll(d.dir)
	defer d.unplug()
	next = &history{Base: files, Notes: len(d.events), Turns: h.Turns, Synced: h.Synced}
	faults = next.check(t, d)
	for i := range faults {
		faults[i] = fmt.Sprintf("%s (power cut before event %d of %d)", faults[i], cut, len(h.Events))
	}
	if next.Events = d.events; d.forget || len(faults) > 0 {
		next = nil
	}
	return faults, next
}

// check opens the journal of a disk after a power cut, as a new process does, looks
// for what was promised to those whose notes the disk has, and submits all turns.
func (h *history) check(t testing.TB, d *disk) (faults []string) {
	fault := func(kind, format string, args ...any) { faults = append(faults, kind+fmt.Sprintf(format, args...)) }
	ctx := context.Background()
	notes := slices.Clone(d.events)
	l, err := d.open(t)
	if err != nil {
		fault(unusable, "%v", err)
		return faults
	}
	defer l.Close()

	var kept journal.Head // the last one that was told: it covers reads too
	answers := map[callgate.Identity]answer{}
	for _, e := range notes {
		if e.Op == "answer" && final(e.Tool, e.Answer) {
			answers[e.ID] = e.Answer
		}
		if e.Op == "head" {
			kept = e.Head
		}
	}
	if _, err := l.Verify(ctx, kept); err != nil {
		fault(broken, "%v", err)
	}
	claimed := map[callgate.Identity]bool{}
	for rec, err := range l.Calls(ctx, "s") {
		if err != nil || !rec.Settled {
			fault(broken, "call %s: settled %t, %v", rec.Identity, rec.Settled, err)
			break
		}
		claimed[rec.Identity] = true
	}
	ran := map[callgate.Identity]int{}
	for _, e := range notes {
		if e.Op == "effect" {
			ran[e.ID]++
			if e.Tool != "read" && !claimed[e.ID] {
				fault(unknown, "call %s", e.ID)
			}
		}
	}

	for n := range h.Turns + 1 { // one more than before: the journal goes on
		calls := h.turn(n)
		for i, r := range l.submit(n, calls...) {
			id := callgate.Identity{Session: "s", Turn: n, Index: i}
			if r.Code != "" && (r.Code != callgate.OutcomeUnknown || calls[i].Name == "read") {
				fault(unusable, "call %s: %v", id, r)
			}
			if before, ok := answers[id]; ok && (!r.Recorded || !answerOf(r).repeats(before)) {
				fault(lost, "call %s: recorded %t, %.100q; before: %.100q", id, r.Recorded, r, before)
			}
		}
	}
	for _, e := range d.events[len(notes):] {
		_, answered := answers[e.ID]
		if e.Op == "effect" && (answered || e.Tool == "once" && ran[e.ID] > 0) {
			fault(double, "call %s, %s", e.ID, e.Tool)
		}
		if e.Op == "effect" {
			ran[e.ID]++
		}
	}
	if _, err := l.Verify(ctx, kept); err != nil {
		fault(broken, "at the end: %v", err)
	}
	h.owners(t, d)
	return faults
}

// The history of a failure, and the seed, to have it again.
const historyEnv, seedEnv = "JOURNAL_TEST_HISTORY", "JOURNAL_TEST_SEED"

func (h *history) save(t testing.TB) (path string) {
	f, err := os.CreateTemp("", "power-cut-*.gob") // outlives the test
	if err == nil {
		err = errors.Join(gob.NewEncoder(f).Encode(h), f.Close())
	}
	if err != nil {
		t.Error(err)
		return ""
	}
	return f.Name()
}

func load(t testing.TB, path string) *history {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := new(history)
	if err := gob.NewDecoder(f).Decode(h); err != nil {
		t.Fatal(err)
	}
	return h
}

// cuts tries seeds from first on, and hands what is wrong to found, with the history
// and seed that show it. It ends when found says so.
func (h *history) cuts(t testing.TB, first, seeds uint64, found func(h *history, seed uint64, faults []string) (goOn bool)) {
	var mu sync.Mutex
	next, end := first, first+seeds
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= end
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				for life, cuts := h, 0; life != nil && cuts < 3; cuts++ {
					faults, after := life.try(t, seed)
					if len(faults) > 0 {
						mu.Lock()
						if next < end && !found(life, seed, faults) {
							next = end
						}
						mu.Unlock()
					}
					life = after
				}
			}
		})
	}
	wg.Wait()
}

// The power is cut at thousands of moments, and what was not synced is lost, or is
// not, or in part. Whatever is left: it opens, the chain holds up to the last answer,
// every effect has a claim, no answer is forgotten and nothing runs twice.
func TestPowerCut(t *testing.T) {
	if path := os.Getenv(historyEnv); path != "" {
		seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64)
		if err != nil {
			t.Fatal(seedEnv, err)
		}
		faults, _ := load(t, path).try(t, seed)
		for _, f := range faults {
			t.Error(f)
		}
		return
	}
	seeds, each := 160, 40
	switch {
	case raced || testing.Short():
		seeds, each = 16, 8
	case os.Getenv("CI") != "":
		seeds, each = 2000, 250
	}
	for first := 0; first < seeds && !t.Failed(); first += each {
		h := record(t, &disk{checkpoints: 20})
		h.cuts(t, uint64(first), uint64(each), func(h *history, seed uint64, faults []string) bool {
			t.Errorf("%s\nagain: %s=%s %s=%d go test -run TestPowerCut ./journal", strings.Join(faults, "\n"), historyEnv, h.save(t), seedEnv, seed)
			return false
		})
	}
}

// A disk that does not do what it says is found out: without syncs there are calls
// that run twice, answers that are forgotten and effects without a claim.
func TestPowerCutIsNoticed(t *testing.T) {
	seeds := uint64(40)
	if raced || testing.Short() {
		seeds = 20
	}
	found := map[string]int{}
	record(t, &disk{checkpoints: 20, lies: true}).cuts(t, 0, seeds, func(_ *history, _ uint64, faults []string) bool {
		for _, f := range faults {
			kind, _, _ := strings.Cut(f, ": ")
			found[kind+": "]++
		}
		return true
	})
	for _, kind := range []string{double, lost, unknown, broken} {
		if found[kind] == 0 {
			t.Errorf("without syncs nobody noticed that %s", kind)
		}
	}
}

// What the disk recorded is what is in the files, and there is enough of it: logs
// that were emptied into the database, and files that were made and taken away.
func TestDiskIsRecorded(t *testing.T) {
	d := &disk{checkpoints: 20}
	newDisk(t, scratch(t), d)
	defer d.unplug()
	l, err := d.open(t)
	if err != nil {
		t.Fatal(err)
	}
	h, files := &history{Turns: 10}, map[string][]byte{}
	for n := range h.Turns {
		l.submit(n, h.turn(n)...)
	}
	h.Events = append(d.events, event{Op: "syncdir"})
	for n := range d.files {
		h.Events = append(h.Events, event{Op: "sync", File: n})
	}
	for _, f := range h.image(len(h.Events), rand.New(rand.NewPCG(0, 0))) {
		files[f.Name] = f.Data
	}
	if len(files) != 2 {
		t.Errorf("%d files recorded, want the database and its log", len(files))
	}
	for name, data := range files {
		if got, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s has %d bytes, %v; recorded were others, %d", name, len(got), err, len(data))
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	did := map[string]int{}
	for _, e := range d.events {
		if did[e.Op]++; e.Op == "sync" {
			did[fmt.Sprint("sync ", e.File)]++
		}
	}
	if did["sync 0"] < 5 || did["sync"] < 4*did["sync 0"] || did["delete"] < 2 || did["effect"] < h.Turns {
		t.Errorf("too little happens to tell: %v", did)
	}
}
