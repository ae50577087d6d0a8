package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate"
)

func holdSession(t testing.TB, j *Journal, id string) *Session {
	t.Helper()
	s, err := j.Begin(id, About{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newHeld is a rig that holds the session "s".
func newHeld(t testing.TB, opts Options) *rig {
	g := newRig(t, opts, nil)
	holdSession(t, g.Journal, "s")
	return g
}

// keepBusy keeps the writer busy, so that nothing is moved, until go is called.
func (g *rig) keepBusy(t *testing.T) (free func()) {
	t.Helper()
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		g.write.do(false, func(*writer) error { close(held); <-release; return nil })
	}()
	<-held
	free = sync.OnceFunc(func() { close(release); <-done })
	t.Cleanup(free)
	return free
}

// inFile returns how many rows a reader of the file sees, open or not.
func (g *rig) inFile(t *testing.T) (n int) {
	t.Helper()
	if err := g.read.QueryRow(`SELECT count(*) FROM calls`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (g *rig) list(t *testing.T) (rows []string) {
	t.Helper()
	for rec, err := range g.Calls(context.Background(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprintf("%s run %d %s %s%s", rec.Identity, rec.Run, rec.Tool, rec.State, rec.Code))
	}
	return rows
}

func (g *rig) check(t *testing.T, rows ...string) {
	t.Helper()
	if got := g.list(t); !slices.Equal(got, rows) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(rows, "\n"))
	}
	if v, err := g.Verify(context.Background(), Head{}); err != nil || v.Calls+v.Open != int64(len(rows)) {
		t.Errorf("%+v, %v; want %d rows", v, err, len(rows))
	}
}

// reopen closes the journal, opens it again and holds the session.
func (g *rig) reopen(t *testing.T) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	g.open(t)
}

func (g *rig) open(t *testing.T) {
	t.Helper()
	j, err := Open(g.path, g.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	g.Journal, g.gate.Executor = j, j.Executor(nil)
}

func fileOf(o *owner) string { return o.file.Name() }

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A read of a held session waits for no transaction. It is in the file of its process
// before it is answered, and in the database when anybody here asks.
func TestReadsWaitForNoTransaction(t *testing.T) {
	g := newHeld(t, Options{})
	free := g.keepBusy(t)
	var claims atomic.Int32
	g.do = func() {
		list, err := frames(read(t, fileOf(g.owner)))
		if err == nil && len(list) > 0 && list[0].parts == partClaim {
			claims.Add(1)
		}
	}
	if r := g.submit(1, 1, "read")[0]; r.Code != "" || claims.Load() != 1 {
		t.Errorf("%q; %d claims were there when the handler ran", r, claims.Load())
	}
	if list, err := frames(read(t, fileOf(g.owner))); err != nil || len(list) != 2 || list[1].parts != partSettle || g.inFile(t) != 0 {
		t.Errorf("when it was answered: %d frames, %v; %d rows in the database", len(list), err, g.inFile(t))
	}
	free()
	g.check(t, "s/1/0 run 0 read done")
	if size := len(read(t, fileOf(g.owner))); size != 0 {
		t.Errorf("%d bytes are left of what was moved", size)
	}
	synced := g.write.synced.Load()
	for _, r := range g.submit(2, 8, "read") {
		if r.Code != "" {
			t.Errorf("%q", r)
		}
	}
	for range g.Calls(context.Background(), "s") {
		break
	}
	if n := g.write.synced.Load() - synced; n != 0 || g.inFile(t) != 9 {
		t.Errorf("8 reads cost %d syncs; %d rows", n, g.inFile(t))
	}
}

// Nobody has to ask for it.
func TestReadsAreMovedByThemselves(t *testing.T) {
	g := newHeld(t, Options{})
	g.submit(1, 3, "read")
	for start := time.Now(); g.inFile(t) != 3; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d rows after %v", g.inFile(t), time.Since(start))
		}
	}
}

// While a read runs, whoever asks sees its claim; and what asks for anything else of
// the calls sees those that were answered.
func TestWhoAsksSeesWhatWasSpooled(t *testing.T) {
	ctx := context.Background()
	ask := map[string]func(g *rig) (int64, error){
		"Calls": func(g *rig) (n int64, err error) {
			for _, e := range g.Calls(ctx, "s") {
				n, err = n+1, e
			}
			return n, err
		},
		"Tool": func(g *rig) (n int64, err error) {
			for _, e := range g.Tool(ctx, "read") {
				n, err = n+1, e
			}
			return n, err
		},
		"Call": func(g *rig) (int64, error) {
			rec, err := g.Call(ctx, callgate.Identity{Session: "s", Turn: 1, Index: 1}, -1)
			return int64(rec.Identity.Index) + 1, err
		},
		"Head":   func(g *rig) (int64, error) { h, err := g.Head(ctx); return h.Rows - 1, err }, // the first is the session's
		"Verify": func(g *rig) (int64, error) { v, err := g.Verify(ctx, Head{}); return v.Calls, err },
		"SessionInfo": func(g *rig) (int64, error) {
			info, err := g.SessionInfo(ctx, "s")
			return info.Calls, err
		},
		"Sessions": func(g *rig) (n int64, err error) {
			for info, e := range g.Sessions(ctx) {
				n, err = n+info.Calls, e
			}
			return n, err
		},
		"Close": func(g *rig) (int64, error) {
			err := g.Close()
			g.open(t)
			return int64(g.inFile(t)), err
		},
	}
	for name, f := range ask {
		g := newHeld(t, Options{})
		g.submit(1, 2, "read")
		if n, err := f(g); n != 2 || err != nil {
			t.Errorf("%s: %d, %v; want 2", name, n, err)
		}
	}
}

// A synced write takes what was spooled before with it, and comes after it.
func TestSyncedWriteTakesReadsWithIt(t *testing.T) {
	g := newHeld(t, Options{})
	free := g.keepBusy(t)
	g.submit(1, 1, "read")
	go free()
	g.submit(2, 1, "once")
	var places []int64
	rows, err := g.read.Query(`SELECT seq FROM calls ORDER BY turn`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			t.Error(err)
		}
		places = append(places, seq)
	}
	if !slices.Equal(places, []int64{2, 3}) { // after the session's
		t.Errorf("places in the chain: %v", places)
	}
}

// A random history means the same in a held session and in one that nobody holds: the
// same answers, the same runs, the same rows.
func TestHeldMeansTheSame(t *testing.T) {
	histories, steps := 12, 40
	if testing.Short() {
		histories = 4
	}
	for seed := range uint64(histories) {
		var said, rows [2][]string
		for way := range said {
			random := rand.New(rand.NewPCG(seed, 1))
			g := newRig(t, Options{}, nil)
			if way == 1 {
				holdSession(t, g.Journal, "s")
			}
			g.gate.Observers = []callgate.Observer{func(c context.Context, e callgate.Event) { g.Observer()(c, e) }}
			for range steps {
				var fate string
				g.do = func() {
					if fate == "panic" {
						panic("at sea")
					}
				}
				switch random.IntN(12) {
				case 0:
					if err := g.flush(); err != nil {
						t.Fatal(err)
					}
				case 1:
					g.reopen(t)
					if way == 1 {
						holdSession(t, g.Journal, "s")
					}
				default:
					tool := []string{"read", "read", "read", "again", "once", "nosuch"}[random.IntN(6)]
					turn, args := random.IntN(8), random.IntN(5)/4
					fate = []string{"", "", "panic", "stop"}[random.IntN(4)]
					ctx, cancel := context.WithCancel(context.Background())
					if fate == "stop" {
						g.do = func() { cancel(); time.Sleep(5 * time.Millisecond) }
					}
					r := g.gate.Dispatch(ctx, g.cat, callgate.Turn{Session: "s", Number: turn, Calls: []callgate.Call{
						{Name: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, args))}}})[0]
					cancel()
					said[way] = append(said[way], fmt.Sprintf("turn %d %s %d %s: %s %s recorded %t, %d runs", turn, tool, args, fate, r.Code, r.State, r.Recorded, g.runs.Load()))
				}
			}
			rows[way] = g.list(t)
			if _, err := g.Verify(context.Background(), Head{}); err != nil {
				t.Errorf("history %d: %v", seed, err)
			}
			g.Close()
		}
		if !slices.Equal(said[0], said[1]) || !slices.Equal(rows[0], rows[1]) {
			for i := range said[0] {
				if said[0][i] != said[1][i] {
					t.Errorf("history %d, step %d:\nnot held: %s\nheld:     %s", seed, i, said[0][i], said[1][i])
				}
			}
			t.Errorf("history %d\nnot held:\n%s\nheld:\n%s", seed, strings.Join(rows[0], "\n"), strings.Join(rows[1], "\n"))
		}
	}
}

// A spool that cannot be written stops reads before they start.
func TestUnwritableSpoolStopsReads(t *testing.T) {
	g := newHeld(t, Options{})
	g.owner.file.Close()
	r := g.submit(1, 1, "read")[0]
	if r.Code != callgate.Internal || r.State != callgate.NotStarted || !strings.Contains(r.Message, "spool cannot be written") || g.runs.Load() != 0 {
		t.Errorf("%q, state %s, %d runs", r, r.State, g.runs.Load())
	}
	if r := g.submit(2, 1, "once")[0]; r.Code != "" {
		t.Errorf("what does not need it: %q", r)
	}
	g.check(t, "s/2/0 run 0 once done")
}

// If only what became of a read cannot be spooled, the database takes it; if neither
// can be written, the answer is no success.
func TestUnwritableSpoolAfterTheHandler(t *testing.T) {
	g := newHeld(t, Options{})
	g.do = func() { g.owner.file.Close() }
	if r := g.submit(1, 1, "read")[0]; r.Code != "" {
		t.Errorf("%q", r)
	}
	g.check(t, "s/1/0 run 0 read done")
	if r := g.submit(1, 1, "read")[0]; !r.Recorded || g.runs.Load() != 1 {
		t.Errorf("%q after %d runs", r, g.runs.Load())
	}

	g = newHeld(t, Options{})
	var mend func()
	g.do = func() {
		g.owner.file.Close()
		mend = faults["read-only file"].make(t, g)
	}
	r := g.submit(1, 1, "read")[0]
	if r.Code != callgate.OutcomeUnknown || r.State != callgate.Unknown || !strings.Contains(r.Message, "could not record") {
		t.Errorf("%q, state %s", r, r.State)
	}
	mend()
	if r := g.submit(1, 1, "read")[0]; r.Code != callgate.OutcomeUnknown || g.runs.Load() != 1 {
		t.Errorf("submitted again: %q after %d runs", r, g.runs.Load())
	}
}

// When rows cannot be moved, the reads after them are stopped, with the reason, until
// they can. Nothing that was answered is lost.
func TestRowsThatCannotBeMovedStopReads(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			g := newHeld(t, Options{BusyTimeout: 20 * time.Millisecond})
			g.submit(1, 1, "once") // so that the session is there, and pages to fill
			mend := f.make(t, g)
			if r := g.submit(2, 1, "read")[0]; r.Code != "" {
				t.Errorf("while nobody knows yet: %q", r)
			}
			for _, err := range g.Calls(context.Background(), "s") {
				if err == nil || !strings.Contains(err.Error(), f.says) {
					t.Errorf("asked for: %v, want %q", err, f.says)
				}
			}
			for range 2 {
				r := g.submit(3, 1, "read")[0]
				if r.Code != callgate.Internal || r.State != callgate.NotStarted || !strings.Contains(r.Message, f.says) {
					t.Errorf("%q, state %s; want internal, not started, and %q", r, r.State, f.says)
				}
			}
			if r := g.submit(2, 1, "read")[0]; !r.Recorded {
				t.Errorf("the answered one: %q", r)
			}
			if n := g.runs.Load(); n != 2 {
				t.Errorf("%d runs", n)
			}
			mend()
			if r := g.submit(3, 1, "read")[0]; r.Code != "" || r.Recorded {
				t.Errorf("mended: %q", r)
			}
			g.check(t, "s/1/0 run 0 once done", "s/2/0 run 0 read done", "s/3/0 run 0 read done")
		})
	}
}

// What cannot be moved when the journal is closed is kept for the next one.
func TestCloseKeepsWhatItCannotMove(t *testing.T) {
	g := newHeld(t, Options{BusyTimeout: 20 * time.Millisecond})
	mend := faults["locked by another"].make(t, g)
	g.submit(1, 2, "read")
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("closed: %v", err)
	}
	mend()
	g.open(t)
	g.check(t, "s/1/0 run 0 read done", "s/1/1 run 0 read done")
	if r := g.submit(1, 2, "read")[1]; !r.Recorded || g.runs.Load() != 2 {
		t.Errorf("%q after %d runs", r, g.runs.Load())
	}
	if left, err := filepath.Glob(g.path + "-owner-*"); err != nil || len(left) != 1 {
		t.Errorf("files of owners: %v, %v", left, err)
	}
}

// leave makes what a process leaves that dies at this moment: its file, with these
// bytes, that nobody has locked. The journal itself is closed.
func (g *rig) leave(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Rows that a dead process had moved, wholly or in part, before it could empty its
// file, are not there twice; and who asks whether it lives takes nothing away.
func TestSpoolOfTheDead(t *testing.T) {
	g := newHeld(t, Options{})
	g.submit(1, 1, "once")
	free := g.keepBusy(t)
	g.submit(2, 1, "read")
	var claims, settled []byte
	g.do = func() {
		claims = read(t, fileOf(g.owner))
		free() // the claim is moved and its file emptied, while it runs
		for range g.Calls(context.Background(), "s") {
		}
		free = g.keepBusy(t)
	}
	g.submit(3, 1, "read")
	settled = read(t, fileOf(g.owner))
	free()
	want := []string{"s/1/0 run 0 once done", "s/2/0 run 0 read done", "s/3/0 run 0 read done"}
	g.check(t, want...)
	head, _ := g.Head(context.Background())
	path := fileOf(g.owner) // as the rows say

	for name, data := range map[string][]byte{"claims": claims, "the end": settled, "all": append(claims[:len(claims):len(claims)], settled...), "nothing": nil} {
		g.leave(t, path, data)
		g.open(t)
		g.check(t, want...)
		if again, err := g.Head(context.Background()); err != nil || again != head {
			t.Errorf("%s: the head moved from %v to %v, %v", name, head, again, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: the file is still there", name)
		}
	}

	// A journal without the rows: from the file come those that were answered, and
	// the one that ran is in doubt.
	for name, c := range map[string]struct {
		data []byte
		rows []string
	}{
		"claims": {claims, []string{"s/2/0 run 0 read done", "s/3/0 run 0 read unknownoutcome_unknown"}},
		"all":    {append(claims[:len(claims):len(claims)], settled...), []string{"s/2/0 run 0 read done", "s/3/0 run 0 read done"}},
		"end":    {settled, nil}, // of a claim that was removed since
	} {
		g := newRig(t, Options{}, nil)
		dead := ownerPath(g.path, "dead")
		if err := os.WriteFile(dead, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		holdSession(t, g.Journal, "s").Release()
		g.exec(t, `UPDATE sessions SET owner = 'dead'`)
		if info, err := g.SessionInfo(context.Background(), "s"); info.InUse || err != nil {
			t.Errorf("%s: in use by the dead: %v", name, err)
		}
		if _, err := g.Recover(context.Background()); err != nil {
			t.Error(err)
		}
		t.Run(name, func(t *testing.T) { g.check(t, c.rows...) })
	}
}

// Of a file that ends anywhere, what is whole before that counts.
func TestTornSpool(t *testing.T) {
	g := newHeld(t, Options{})
	free := g.keepBusy(t)
	for turn := range 2 {
		g.submit(turn, 1, "read")
	}
	data := read(t, fileOf(g.owner))
	free()
	ends := []int{0}
	for rest := data; len(rest) > 0; rest = data[ends[len(ends)-1]:] {
		ends = append(ends, ends[len(ends)-1]+frameHead+int(rest[2])<<8+int(rest[3]))
	}
	if len(ends) != 5 || ends[4] != len(data) {
		t.Fatalf("frames end at %v of %d bytes", ends, len(data))
	}
	rows := [][]string{
		nil,
		{"s/0/0 run 0 read unknownoutcome_unknown"},
		{"s/0/0 run 0 read done"},
		{"s/0/0 run 0 read done", "s/1/0 run 0 read unknownoutcome_unknown"},
		{"s/0/0 run 0 read done", "s/1/0 run 0 read done"},
	}
	for n := range len(data) + 1 {
		whole := 0
		for whole < 4 && ends[whole+1] <= n {
			whole++
		}
		if list, err := frames(data[:n]); err != nil || len(list) != whole {
			t.Errorf("cut off after %d bytes: %d frames, %v; want %d", n, len(list), err, whole)
		}
		for _, garbage := range []byte{0, 0xff} { // what a file system may leave there
			torn := append(data[:n:n], bytes.Repeat([]byte{garbage}, 20)...)
			if whole < 4 && bytes.HasPrefix(torn, data[:ends[whole+1]]) {
				continue // it happens to be what is missing
			}
			if list, err := frames(torn); err != nil || len(list) != whole {
				t.Errorf("garbage after %d bytes: %d frames, %v; want %d", n, len(list), err, whole)
			}
		}
		if n == ends[whole] || n == ends[whole]+1 || whole < 4 && n == ends[whole+1]-1 {
			g := newRig(t, Options{}, nil)
			g.leave(t, fileOf(g.owner), data[:n])
			g.open(t)
			g.check(t, rows[whole]...)
			g.Close()
		}
	}
	for i := range data { // a byte that is not what was written
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		list, err := frames(bad)
		if err != nil || len(list) >= 4 {
			t.Errorf("byte %d was changed: %d frames, %v", i, len(list), err)
		}
	}
}

// What a newer version wrote is not thrown away.
func TestSpoolOfANewerVersion(t *testing.T) {
	g := newHeld(t, Options{})
	free := g.keepBusy(t)
	g.submit(1, 1, "read")
	list, err := frames(read(t, fileOf(g.owner)))
	if err != nil {
		t.Fatal(err)
	}
	free()
	data := appendFrame(nil, partClaim, &list[0].row)
	data = reseal(data, func(payload []byte) { payload[0] = 9 })
	path := fileOf(g.owner)
	g.leave(t, path, data)
	if j, err := Open(g.path, Options{}); err == nil || !strings.Contains(err.Error(), "format 9") || !strings.Contains(err.Error(), path) {
		if err == nil {
			j.Close()
		}
		t.Errorf("%v", err)
	}
	if got := read(t, path); !bytes.Equal(got, data) {
		t.Error("the file was changed")
	}
}

// However many reads come while nothing can be moved, only so many wait; the others
// are not claimed before it goes on.
func TestSpoolIsBounded(t *testing.T) {
	g := newHeld(t, Options{})
	g.gate.Parallel = 64
	free := g.keepBusy(t)
	var wg sync.WaitGroup
	n := spoolRows + 300
	for i := range n {
		wg.Go(func() { g.submit(i, 1, "read") })
	}
	for start := time.Now(); g.runs.Load() < spoolRows; time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d runs", g.runs.Load())
		}
	}
	time.Sleep(20 * time.Millisecond)
	g.spool.mu.Lock()
	waiting := len(g.spool.queue)
	g.spool.mu.Unlock()
	if runs := int(g.runs.Load()); waiting > spoolRows || runs > spoolRows {
		t.Errorf("%d rows wait after %d runs", waiting, runs)
	}
	free()
	wg.Wait()
	if v, err := g.Verify(context.Background(), Head{}); err != nil || v.Calls != int64(n) {
		t.Errorf("%+v, %v", v, err)
	}
}

// The file does not grow for ever under reads that never pause.
func TestSpoolFileIsBounded(t *testing.T) {
	g := newHeld(t, Options{})
	g.spool.mu.Lock()
	g.spool.size = spoolFile // as if so much had been written since it was last empty
	g.spool.mu.Unlock()
	g.submit(1, 1, "read")
	g.spool.mu.Lock()
	defer g.spool.mu.Unlock()
	if g.spool.size >= spoolFile {
		t.Errorf("%d bytes", g.spool.size)
	}
}

// What must not be stored does not reach the spool.
func TestSpoolIsRedacted(t *testing.T) {
	g := newHeld(t, Options{Redact: []*regexp.Regexp{regexp.MustCompile(`x{200}|done`)}})
	defer g.keepBusy(t)()
	g.submit(1, 1, "read")
	data := read(t, fileOf(g.owner))
	if bytes.Contains(data, []byte("xxx")) || bytes.Contains(data, []byte(`"text":"done"`)) || bytes.Count(data, []byte("REDACTED")) != 2 {
		t.Errorf("%q", data)
	}
}

// Released, a session is anybody's, with all that was answered in it; what still runs
// is settled there.
func TestReleaseMovesReads(t *testing.T) {
	g := newRig(t, Options{}, nil)
	s := holdSession(t, g.Journal, "s")
	other, err := Open(g.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	g.submit(1, 1, "read")
	g.do = func() {
		if err := s.Release(); err != nil {
			t.Error(err)
		}
		theirs := holdSession(t, other, "s")
		defer theirs.Release()
		x := &callgate.Execution{Call: callgate.Call{Name: "read", Identity: callgate.Identity{Session: "s", Turn: 1}, Arguments: json.RawMessage(`{"text":"` + strings.Repeat("x", 200) + `"}`)}, Timeout: time.Second}
		if out, ok := other.Executor(nil).Recall(context.Background(), x); !ok || out.Result.State != callgate.Done {
			t.Errorf("what was answered here: %+v, %t", out.Result, ok)
		}
		if r := g.submit(3, 1, "read")[0]; r.Code != callgate.Unavailable {
			t.Errorf("in a session that another holds: %q", r)
		}
	}
	if r := g.submit(2, 1, "read")[0]; r.Code != "" {
		t.Errorf("%q", r)
	}
	g.do = func() {}
	if r := g.submit(2, 1, "read")[0]; !r.Recorded {
		t.Errorf("%q", r)
	}
	g.submit(4, 1, "read")
	g.check(t, "s/1/0 run 0 read done", "s/2/0 run 0 read done", "s/4/0 run 0 read done")
}

// Somebody removed this process's file, and another took its session over: the reads
// of both are kept, and the next ones see each other.
func TestTakenForDead(t *testing.T) {
	g := newHeld(t, Options{})
	g.submit(1, 1, "once")
	if err := os.Remove(fileOf(g.owner)); err != nil {
		t.Fatal(err)
	}
	other := &rig{do: func() {}}
	other.Journal, other.cat = g.Journal, g.cat
	j, err := Open(g.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	holdSession(t, j, "s")
	theirs := &callgate.Dispatcher{Policy: callgate.AllowAll, Executor: j.Executor(nil)}
	turn := callgate.Turn{Session: "s", Number: 2, Calls: []callgate.Call{{Name: "read", Arguments: json.RawMessage(`{"by":"them"}`)}}}
	if r := theirs.Dispatch(context.Background(), g.cat, turn)[0]; r.Code != "" {
		t.Errorf("%q", r)
	}
	if err := j.flush(); err != nil {
		t.Fatal(err)
	}
	if r := g.submit(2, 1, "read")[0]; r.Code != "" || r.Recorded {
		t.Errorf("%q", r)
	}
	g.check(t, "s/1/0 run 0 once done", "s/2/0 run 0 read done", "s/2/0 run 1 read done")
	if r := g.submit(3, 1, "read")[0]; r.Code != callgate.Unavailable {
		t.Errorf("when it knows: %q", r)
	}
	if r := g.submit(2, 1, "read")[0]; !r.Recorded {
		t.Errorf("the answered one: %q", r)
	}
}

// The memory of a held session is bounded, and says no where it has forgotten.
func TestHolding(t *testing.T) {
	s := newSpool(&owner{locked: true})
	h := s.hold("s", 7)
	at := func(turn, index int) callgate.Identity {
		return callgate.Identity{Session: "s", Turn: turn, Index: index}
	}
	for turn := 8; turn < 3000; turn++ {
		for i := range 2 {
			h.note(at(turn, i))
		}
	}
	if len(h.noted) > maxNoted {
		t.Errorf("%d calls are remembered", len(h.noted))
	}
	for _, c := range []struct {
		id   callgate.Identity
		none bool
	}{
		{at(7, 0), false}, {at(-1, 0), false}, {at(8, 0), false}, {at(8, 5), false}, {at(2999, 0), false}, {at(2999, 2), true}, {at(3000, 0), true},
	} {
		if got := h.none(c.id); got != c.none {
			t.Errorf("%v: known that there is none: %t, want %t", c.id, got, c.none)
		}
	}
}

// Calls of old turns are looked up, and known.
func TestOldTurnsOfAHeldSession(t *testing.T) {
	g := newHeld(t, Options{})
	g.submit(5, 1, "read")
	g.submit(9, 1, "once")
	g.reopen(t)
	holdSession(t, g.Journal, "s")
	g.submit(4, 1, "read")
	for _, turn := range []int{4, 5, 9} {
		tool := map[int]string{4: "read", 5: "read", 9: "once"}[turn]
		if r := g.submit(turn, 1, tool)[0]; !r.Recorded {
			t.Errorf("turn %d: %q", turn, r)
		}
	}
	g.submit(10, 1, "read")
	if r := g.submit(10, 1, "read")[0]; !r.Recorded || g.runs.Load() != 4 {
		t.Errorf("%q after %d runs", r, g.runs.Load())
	}
	g.check(t, "s/4/0 run 0 read done", "s/5/0 run 0 read done", "s/9/0 run 0 once done", "s/10/0 run 0 read done")
}

// Refusals are rows too: of a session that is held by the same way as reads, of one
// that nobody holds in the database, of one that another holds not at all.
func TestRefusals(t *testing.T) {
	g := newRig(t, Options{}, nil)
	g.gate.Observers = []callgate.Observer{g.Observer()}
	s := holdSession(t, g.Journal, "s")
	free := g.keepBusy(t)
	refused := func(turn int) {
		t.Helper()
		if r := g.submit(turn, 1, "nosuch")[0]; r.Code != callgate.UnknownTool {
			t.Errorf("%q", r)
		}
	}
	refused(1) // waits for nobody
	refused(1)
	if list, err := frames(read(t, fileOf(g.owner))); err != nil || len(list) == 0 || list[0].parts != partClaim|partSettle {
		t.Errorf("%+v, %v", list, err)
	}
	free()
	if err := s.Release(); err != nil {
		t.Error(err)
	}
	refused(2)
	other, err := Open(g.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	holdSession(t, other, "s")
	refused(3)
	g.check(t, "s/1/0 run 0 nosuch not_startedunknown_tool", "s/2/0 run 0 nosuch not_startedunknown_tool")
}

// What the database says of a second claim the spool says too.
func TestClaimedAgainInTheSpool(t *testing.T) {
	g := newHeld(t, Options{})
	defer g.keepBusy(t)()
	id := callgate.Identity{Session: "s"}
	for _, c := range []struct {
		state     callgate.State // "": it runs
		args      string         // of the second
		overstays bool
		to        where
	}{
		{callgate.Done, `{}`, false, refused},
		{callgate.Stopped, `{}`, false, spooled},
		{callgate.Unknown, `{}`, false, spooled},
		{callgate.NotStarted, `{}`, false, spooled},
		{callgate.Stopped, `{}`, true, refused},
		{callgate.Stopped, `{"other":1}`, false, refused},
		{"", `{}`, false, refused},
	} {
		id.Turn++
		first := callgate.Call{Name: "read", Identity: id, Arguments: json.RawMessage(`{}`)}
		second := first
		second.Arguments = json.RawMessage(c.args)
		row := func(call callgate.Call) *row {
			r := g.rowOf(call, call.Digest(), specFacts{}, callgate.Decision{})
			r.effect = callgate.ReadOnly.String()
			return r
		}
		r := row(first)
		if to, err := g.spool.claim(r, false); to != spooled || err != nil {
			t.Fatal(to, err)
		}
		if c.state != "" {
			if err := g.settle(r, callgate.Outcome{Result: callgate.Result{State: c.state}}); err != nil {
				t.Fatal(err)
			}
		}
		again := row(second)
		if to, err := g.spool.claim(again, c.overstays); to != c.to || err != nil || to == spooled && again.run != 1 {
			t.Errorf("%q, then %s, overstays %t: %v, run %d, %v; want %v", c.state, c.args, c.overstays, to, again.run, err, c.to)
		}
	}
}
