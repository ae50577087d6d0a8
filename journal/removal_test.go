package journal

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
)

// forge appends a removal that no Remove would write, with a link that holds.
func (g *rig) forge(t *testing.T, places string) {
	t.Helper()
	err := g.write.do(true, func(w *writer) error {
		return w.append(kindRemoval, func(seq int64) (int64, []byte, error) {
			r := &removalRow{session: "x", places: places, removed: now()}
			res, err := w.run(`INSERT INTO removals (session, reason, places, removed, seq) VALUES ('x', '', ?, ?, ?)`, places, r.removed, seq)
			if err != nil {
				return 0, nil, err
			}
			r.id, err = res.LastInsertId()
			return r.id, r.sum(), err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A removal that names places of rows which are still there, or come after it, takes
// nothing away; nor does it hide another removal.
func TestRemovalOfWhatIsThere(t *testing.T) {
	g := newRig(t, Options{}, nil)
	ctx := context.Background()
	g.submit(1, 2, "once") // rows 1 to 3
	g.forge(t, `[[1,9000000000000000000]]`)
	g.submit(2, 2, "once") // rows 5 and 6
	g.forge(t, `[[4,4]]`)
	if v, err := g.Verify(ctx); err != nil || v.Calls != 4 || v.Removed != 0 || v.Removals != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	for _, c := range []struct {
		remove string
		row    int64 // that is named, 0 for none
	}{
		{`DELETE FROM calls WHERE seq = 2`, 0}, // who can append a removal can remove
		{`DELETE FROM calls WHERE seq = 5`, 5},
		{`DELETE FROM removals WHERE seq = 4`, 4},
		{`DELETE FROM removals WHERE seq = 4; DELETE FROM calls WHERE seq = 2`, 2},
	} {
		path := filepath.Join(t.TempDir(), "journal.db")
		g.exec(t, `VACUUM INTO '`+path+`'`)
		j, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if _, err := j.write.conn.ExecContext(ctx, c.remove); err != nil {
			t.Fatal(err)
		}
		v, err := j.Verify(ctx)
		b, _ := errors.AsType[*Broken](err)
		if (b == nil) != (c.row == 0) || b != nil && b.Row != c.row || b == nil && v.Removed != 1 {
			t.Errorf("%s: %+v, %v; want row %d", c.remove, v, err, c.row)
		}
	}
}

func TestSpans(t *testing.T) {
	s := spans{{7, 9}, {3, 3}, {1, 2}, {8, 20}, {30, math.MaxInt64 - 1}, {12, 13}}.joined()
	if want := (spans{{1, 3}, {7, 20}, {30, math.MaxInt64 - 1}}); len(s) != 3 || s[0] != want[0] || s[1] != want[1] || s[2] != want[2] {
		t.Errorf("joined: %v", s)
	}
	for place, want := range map[int64]bool{0: false, 1: true, 3: true, 4: false, 6: false, 7: true, 20: true, 21: false, 29: false, 30: true, math.MaxInt64 - 1: true, math.MaxInt64: false} {
		if got := s.covers(link{seq: place, kind: kindCall}); got != want {
			t.Errorf("place %d: %t", place, got)
		}
		if s.covers(link{seq: place, kind: kindRemoval}) {
			t.Errorf("a removal at %d", place)
		}
	}
	if (spans{}).covers(link{seq: 1, kind: kindCall}) {
		t.Error("nothing covers something")
	}
}

// A crash after the rows are gone and before the artifacts are leaves those alone,
// for Collect to find.
func TestCrashWithinARemoval(t *testing.T) {
	dir := t.TempDir()
	store, err := artifact.Open(filepath.Join(dir, "artifacts"), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	g := newRig(t, Options{Artifacts: store}, nil)
	g.gate.OutputLimit = 2
	g.gate.Spill = func(ctx context.Context, _ callgate.Identity, out string) (string, error) {
		a, err := store.Put(ctx, strings.NewReader(out))
		return a.Ref(), err
	}
	g.submit(1, 3, "once")
	ids, err := g.remove(context.Background(), "s", "")
	if err != nil || len(ids) != 3 {
		t.Fatalf("%q, %v", ids, err)
	}
	g.Close() // as a process that dies here would

	j, err := Open(g.path, Options{Artifacts: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	if v, err := j.Verify(context.Background()); err != nil || v.Removed != 4 || v.Removals != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "artifacts", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chtimes(f, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	done, err := j.Collect(context.Background(), Retention{Age: time.Minute}, false)
	if err != nil || len(done) != 3 {
		t.Errorf("%+v, %v", done, err)
	}
	for _, c := range done {
		if c.Artifact == "" || c.Err != nil {
			t.Errorf("%+v", c)
		}
	}
	if left, err := store.List(); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// Spooled rows make their sessions as they come, each of which has a place in the chain
// too: in a move, and when they are taken over from a dead process.
func TestSpooledRowsOfNewSessions(t *testing.T) {
	g := newRig(t, Options{}, nil)
	m := &move{}
	var dead []frame
	for i, session := range []string{"one", "two", "one", "three"} {
		x := &callgate.Execution{Call: callgate.Call{Name: "read", Identity: callgate.Identity{Session: session, Turn: i}}, Spec: &callgate.Spec{Name: "read"}, Effect: callgate.ReadOnly}
		r, err := g.newRow(x, x.Digest())
		if err != nil {
			t.Fatal(err)
		}
		if err := g.settleRow(r, callgate.Result{State: callgate.Done}); err != nil {
			t.Fatal(err)
		}
		m.rows, m.settled = append(m.rows, *r), append(m.settled, true)
		d := *r
		d.session = "dead's " + session
		dead = append(dead, frame{row: d, parts: partClaim | partSettle})
	}
	for i, change := range []func(*writer) error{m.write, func(w *writer) error { return w.importSpool("dead", dead) }} {
		if err := g.write.do(true, change); err != nil {
			t.Fatal(err)
		}
		if v, err := g.Verify(context.Background()); err != nil || v.Head.Rows != int64(7*(i+1)) || v.Calls != int64(4*(i+1)) {
			t.Errorf("%+v, %v", v, err)
		}
	}
}

// What is left in this process's spool, since it could not be emptied before, goes with
// the next removal.
func TestRemovalEmptiesTheSpool(t *testing.T) {
	g := newRig(t, Options{}, nil)
	s, err := g.Begin("s", About{})
	if err != nil {
		t.Fatal(err)
	}
	g.submit(1, 1, "read")
	if err := g.flush(); err != nil {
		t.Fatal(err)
	}
	g.spool.mu.Lock()
	n, err := g.spool.file.WriteString("a frame whose row is in the database")
	g.spool.size += int64(n)
	g.spool.mu.Unlock()
	if err := errors.Join(err, s.Release(), g.Remove(context.Background(), "s", "")); err != nil {
		t.Fatal(err)
	}
	if st, err := g.spool.file.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("%v, %v", st, err)
	}
}
