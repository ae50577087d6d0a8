package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate"
)

// A tool that counts its runs, and a dispatcher over the journal.
type rig struct {
	*Journal
	gate callgate.Dispatcher
	cat  *callgate.Catalog
	runs atomic.Int32
	do   func()
}

func newRig(t testing.TB, opts Options, next callgate.Executor) *rig {
	t.Helper()
	j, err := Open(filepath.Join(t.TempDir(), "journal.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	g := &rig{Journal: j, do: func() {}}
	g.gate.Policy, g.gate.Executor = callgate.AllowAll, j.Executor(next)
	var r callgate.Registry
	for name, a := range map[string]callgate.Annotations{"once": {}, "again": {IdempotentHint: true}, "read": {ReadOnlyHint: true}} {
		if err := r.Register(callgate.Tool{
			Spec: callgate.Spec{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: a},
			Handler: func(context.Context, callgate.Call) (callgate.Result, error) {
				g.runs.Add(1)
				g.do()
				return callgate.Text("done"), nil
			},
			Access: func(json.RawMessage) []callgate.Access { return nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	g.cat = r.Catalog()
	return g
}

func (g *rig) submit(turn, n int, tool string) []callgate.Result {
	calls := make([]callgate.Call, n)
	for i := range calls {
		calls[i] = callgate.Call{Name: tool, Arguments: json.RawMessage(`{"text":"` + strings.Repeat("x", 200) + `"}`)}
	}
	return g.gate.Dispatch(context.Background(), g.cat, callgate.Turn{Session: "s", Number: turn, Calls: calls})
}

func (g *rig) exec(t *testing.T, query string) {
	t.Helper()
	if _, err := g.write.conn.ExecContext(context.Background(), query); err != nil {
		t.Fatal(err)
	}
}

// faults make the journal unwritable and writable again. Each is SQLite's own
// refusal: of a disk that is full, of a file that must not be written, of a lock
// that somebody else holds.
var faults = map[string]struct {
	says string
	make func(t *testing.T, g *rig) (mend func())
}{
	"full disk": {"full", func(t *testing.T, g *rig) func() {
		g.exec(t, `PRAGMA max_page_count = 1`) // means: not more than there are
		// Use up what is left in the pages that there are.
		for {
			_, err := g.write.conn.ExecContext(context.Background(), `CREATE TABLE IF NOT EXISTS filler(x); INSERT INTO filler VALUES (zeroblob(3000))`)
			if err != nil {
				break
			}
		}
		for {
			_, err := g.write.conn.ExecContext(context.Background(), `INSERT INTO calls (session, turn, idx, run, call_id, tool, source, tool_digest, effect, arguments, digest, redacted, verdict, rule, reason, approver, labels, sandbox, owner, claimed, seq)
				SELECT 'filler', count(*), 0, 0, '', 'filler', '', '', '', zeroblob(200), x'', 0, '', '', '', '', '', '', '', 0, -count(*) FROM calls`)
			if err != nil {
				break
			}
		}
		return func() { g.exec(t, `PRAGMA max_page_count = 1000000; DELETE FROM calls WHERE session = 'filler'`) }
	}},
	"read-only file": {"readonly", func(t *testing.T, g *rig) func() {
		g.exec(t, `PRAGMA query_only = 1`)
		return func() { g.exec(t, `PRAGMA query_only = 0`) }
	}},
	"locked by another": {"locked", func(t *testing.T, g *rig) func() {
		db, err := sql.Open("sqlite", dsn(g.path, time.Second, "journal_mode(WAL)"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ExecContext(context.Background(), `BEGIN IMMEDIATE`); err != nil {
			t.Fatal(err)
		}
		return func() { c.Close(); db.Close() }
	}},
}

// A journal that cannot be written stops every call before it starts, says why,
// and lets it run when it can be written again.
func TestUnwritableStopsCalls(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Options{BusyTimeout: 20 * time.Millisecond}, nil)
			mend := f.make(t, g)
			for i, tool := range []string{"once", "again", "read"} {
				r := g.submit(i, 1, tool)[0]
				if r.Code != callgate.Internal || r.State != callgate.NotStarted || !strings.Contains(r.Message, "the call was not run") || !strings.Contains(r.Message, f.says) {
					t.Errorf("%s: %q, state %s; want internal, not started, and why: %q", tool, r, r.State, f.says)
				}
			}
			if n := g.runs.Load(); n != 0 {
				t.Errorf("%d handlers ran without a claim", n)
			}
			mend()
			for i, tool := range []string{"once", "again", "read"} {
				if r := g.submit(i, 1, tool)[0]; r.Code != "" || r.Recorded {
					t.Errorf("%s, after it was mended: %q", tool, r)
				}
			}
		})
	}
}

// A call that ran and could not be recorded is not a success, and is not run again
// by this process or, after its end, by the next.
func TestUnwritableAfterTheHandler(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Options{BusyTimeout: 20 * time.Millisecond}, nil)
			var mend func()
			g.do = func() { mend = f.make(t, g) }
			r := g.submit(1, 1, "once")[0]
			if r.Code != callgate.OutcomeUnknown || r.State != callgate.Unknown || r.Attempts != 1 || !strings.Contains(r.Message, "could not record") || !strings.Contains(r.Message, f.says) {
				t.Errorf("%q, state %s, %d attempts", r, r.State, r.Attempts)
			}
			mend()
			if r := g.submit(1, 1, "once")[0]; r.Code != callgate.OutcomeUnknown || g.runs.Load() != 1 {
				t.Errorf("submitted again: %q, %d runs", r, g.runs.Load())
			}
			g.Close()
			j, err := Open(g.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			again := &callgate.Dispatcher{Policy: callgate.AllowAll, Executor: j.Executor(nil)}
			r = again.Dispatch(context.Background(), g.cat, callgate.Turn{Session: "s", Number: 1, Calls: []callgate.Call{
				{Name: "once", Arguments: json.RawMessage(`{"text":"` + strings.Repeat("x", 200) + `"}`)}}})[0]
			if r.Code != callgate.OutcomeUnknown || !r.Recorded || g.runs.Load() != 1 {
				t.Errorf("by the next process: %q, %d runs", r, g.runs.Load())
			}
		})
	}
}

// One change that cannot be written does not stop those that share its transaction.
func TestOneBadChange(t *testing.T) {
	g := newRig(t, Options{}, nil)
	held, release := make(chan struct{}), make(chan struct{})
	go g.write.do(false, func(*writer) error { close(held); <-release; return nil })
	<-held // what comes now shares the next transaction
	errs := make(chan error, 3)
	bad := errors.New("bad")
	go func() { errs <- g.write.do(true, func(*writer) error { return bad }) }()
	go func() { errs <- g.write.do(true, func(*writer) error { panic("worse") }) }()
	good := make(chan callgate.Result, 1)
	go func() { good <- g.submit(1, 1, "once")[0] }()
	time.Sleep(50 * time.Millisecond)
	close(release)
	if a, b := <-errs, <-errs; a == nil || b == nil {
		t.Errorf("bad changes: %v, %v", a, b)
	}
	if r := <-good; r.Code != "" {
		t.Errorf("the good one: %q", r)
	}
}

// A turn of eight once-only calls costs at most four syncs, eight reads none: on a
// disk that takes a while for one, what arrives meanwhile shares the next.
func TestSyncsOfATurn(t *testing.T) {
	g := newRig(t, Options{}, nil)
	g.write.slow = func() { time.Sleep(60 * time.Millisecond) }
	synced := g.write.synced.Load()
	for _, r := range g.submit(1, 8, "once") {
		if r.Code != "" {
			t.Errorf("%q", r)
		}
	}
	if n := g.write.synced.Load() - synced; n < 2 || n > 4 {
		t.Errorf("8 once-only calls cost %d syncs, want 2 to 4", n)
	}
	synced, commits := g.write.synced.Load(), g.write.commits.Load()
	g.submit(2, 8, "read")
	if n, c := g.write.synced.Load()-synced, g.write.commits.Load()-commits; n != 0 || c == 0 {
		t.Errorf("8 reads cost %d syncs in %d commits, want none", n, c)
	}
}

// SQLite syncs the log when the journal says so, and only then.
func TestSyncLevel(t *testing.T) {
	g := newRig(t, Options{}, nil)
	for _, c := range []struct {
		durable bool
		level   int // FULL is 2, NORMAL 1
	}{{true, 2}, {false, 1}, {true, 2}, {false, 1}} {
		var level int
		var mode string
		if err := g.write.do(c.durable, func(w *writer) error {
			return errors.Join(w.conn.QueryRowContext(context.Background(), `PRAGMA synchronous`).Scan(&level),
				w.conn.QueryRowContext(context.Background(), `PRAGMA journal_mode`).Scan(&mode))
		}); err != nil {
			t.Fatal(err)
		}
		if level != c.level || mode != "wal" {
			t.Errorf("durable %t: synchronous %d, journal mode %s", c.durable, level, mode)
		}
	}
}

type panicking struct{ callgate.Executor }

func (panicking) Execute(context.Context, *callgate.Execution) callgate.Outcome { panic("at sea") }

type silent struct{ callgate.Executor }

func (silent) Execute(context.Context, *callgate.Execution) callgate.Outcome {
	return callgate.Outcome{}
}

// An executor that fails, or says nothing, leaves the call in doubt, on record.
func TestNextFails(t *testing.T) {
	for name, next := range map[string]callgate.Executor{"panics": panicking{}, "says nothing": silent{}} {
		g := newRig(t, Options{}, next)
		g.submit(1, 1, "once")
		r := g.submit(1, 1, "once")[0]
		if r.Code != callgate.OutcomeUnknown || r.State != callgate.Unknown || !r.Recorded {
			t.Errorf("%s: %q, state %s, recorded %t", name, r, r.State, r.Recorded)
		}
	}
}

// Files that another program or a newer version made are left alone.
func TestForeignFiles(t *testing.T) {
	for query, says := range map[string]string{
		`CREATE TABLE things(x)`:       "another program's",
		`PRAGMA application_id = 7`:    "another program's",
		`PRAGMA user_version = 9`:      "format 9, from a newer version",
		`PRAGMA user_version = -1`:     "format -1",
		`PRAGMA encoding = "UTF-16le"`: "",
	} {
		path := filepath.Join(t.TempDir(), "journal.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
		db.Close()
		j, err := Open(path, Options{})
		if err == nil {
			j.Close()
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", query, err, says)
		}
	}
}

// Two processes that make the file at the same moment make one.
func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			j, err := Open(path, Options{})
			if err == nil {
				err = j.Close()
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
