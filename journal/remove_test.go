package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/journal"
)

// store returns an artifact store in the directory of the file.
func store(t testing.TB, path string) *artifact.Store {
	t.Helper()
	s, err := artifact.Open(filepath.Join(filepath.Dir(path), "artifacts"), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// spilling returns a gate that keeps what is over 1,000 characters in the store.
func spilling(t testing.TB, j *journal.Journal, s *artifact.Store) *gate {
	g := newGate(t, j.Executor(nil))
	g.OutputLimit = 1000
	g.Spill = func(ctx context.Context, _ callgate.Identity, output string) (string, error) {
		a, err := s.Put(ctx, strings.NewReader(output))
		return a.Ref(), err
	}
	return g
}

// in submits a turn of the session.
func (g *gate) in(session string, turn int, calls ...callgate.Call) []callgate.Result {
	return g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: session, Number: turn, Calls: calls})
}

// onDisk returns all bytes of the files of a journal and its artifacts.
func onDisk(t testing.TB, path string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(path), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "-shm") {
			return err
		}
		data, err := os.ReadFile(name)
		all = append(all, data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func kept(t testing.TB, s *artifact.Store) int {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// An output that was too long is named in its call's row, with the digest of the
// whole.
func TestArtifactOfACall(t *testing.T) {
	path := file(t)
	s := store(t, path)
	j := open(t, path, journal.Options{Artifacts: s})
	g := spilling(t, j, s)
	long := strings.Repeat("0123456789", 500)
	g.do = func(_ context.Context, c callgate.Call, _ int) (callgate.Result, error) {
		if c.Identity.Index == 0 {
			return callgate.Text(long), nil
		}
		return callgate.Text("short"), nil
	}
	g.submit(1, call("once", `{}`), call("read", `{}`))
	list := records(t, j, "s")
	if len(list) != 2 {
		t.Fatalf("%d rows", len(list))
	}
	digest := sha256.Sum256([]byte(long))
	if r := list[0]; !r.Truncated || !bytes.Equal(r.ArtifactSum, digest[:]) || r.Result.Artifact != artifact.Scheme+r.Artifact {
		t.Errorf("artifact %q, digest %x, the result's %q", r.Artifact, r.ArtifactSum, r.Result.Artifact)
	}
	if a, err := s.Stat(list[0].Artifact); err != nil || a.SHA256 != digest {
		t.Errorf("%+v, %v", a, err)
	}
	if r := list[1]; r.Truncated || r.Artifact != "" || r.ArtifactSum != nil {
		t.Errorf("a short one: %+v", r)
	}
	// One that the store does not have is named without a digest.
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		r := callgate.Text("cut")
		r.Artifact, r.Truncated = artifact.Scheme+strings.Repeat("a", 20), true
		return r, nil
	}
	g.submit(2, call("once", `{}`))
	if r := records(t, j, "s")[2]; r.Artifact != strings.Repeat("a", 20) || r.ArtifactSum != nil {
		t.Errorf("one that is not there: %q, %x", r.Artifact, r.ArtifactSum)
	}
}

// What a session held is nowhere on the disk once it is removed: not in the file, not
// in the log, not among the artifacts. What others hold is.
func TestRemovedBytesAreGone(t *testing.T) {
	path := file(t)
	s := store(t, path)
	j := open(t, path, journal.Options{Artifacts: s})
	held := func(session string) (marks []string) {
		mark := func(what string) string {
			m := "mark-" + what + "-of-" + session
			marks = append(marks, m)
			return m
		}
		held := begin(t, j, session, journal.About{Title: mark("title"), Workspace: mark("workspace")})
		turn := journal.Turn{Number: 1, Role: journal.Assistant, Body: []byte(mark("turn") + strings.Repeat(" ", 100_000) + mark("end"))}
		if err := held.Append(&turn); err != nil {
			t.Fatal(err)
		}
		g := spilling(t, j, s)
		result, long, message := mark("result"), mark("artifact"), mark("message")
		g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
			return callgate.Text(result + strings.Repeat(".", 2000) + long + strings.Repeat(".", 2000)), nil
		}
		g.in(session, 1, call("once", `{"n":"`+mark("arguments")+`"}`), call("read", `{"n":"`+mark("read")+`"}`))
		asking := askingGate(t, j, callgate.Answer{Message: message})
		asking.in(session, 2, call("once", `{}`))
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		return marks
	}
	gone, stays := held("gone"), held("stays")
	before := onDisk(t, path)
	for _, m := range append(gone, stays...) {
		if !bytes.Contains(before, []byte(m)) {
			t.Errorf("%s is not stored", m)
		}
	}
	// Each has 6 rows: itself, a turn, two calls, an answer, the call that was refused.
	verify(t, j, 12)
	if err := j.Remove(context.Background(), "gone", "they asked for it"); err != nil {
		t.Fatal(err)
	}
	after := onDisk(t, path)
	for _, m := range gone {
		if bytes.Contains(after, []byte(m)) {
			t.Errorf("%s is still on the disk", m)
		}
	}
	for _, m := range stays {
		if !bytes.Contains(after, []byte(m)) {
			t.Errorf("%s is gone", m)
		}
	}
	if st, err := os.Stat(path + "-wal"); err != nil || st.Size() != 0 {
		t.Errorf("the log: %v, %v", st, err)
	}
	if n := kept(t, s); n != 2 {
		t.Errorf("%d artifacts", n)
	}
	v, err := j.Verify(context.Background())
	if err != nil || v.Head.Rows != 13 || v.Removed != 6 || v.Removals != 1 || v.Calls != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	if err := second(j.SessionInfo(context.Background(), "gone")); !errors.Is(err, journal.ErrNoSession) {
		t.Errorf("it is still listed: %v", err)
	}
	// The name may be taken again; the rows that are gone stay gone.
	begin(t, j, "gone", journal.About{})
	verify(t, j, 14)
}

// A session that somebody needs is not removed, and nothing of it; it is free again
// afterwards.
func TestRemoveRefuses(t *testing.T) {
	path := file(t)
	j, other := open(t, path, journal.Options{}), open(t, path, journal.Options{})
	refused := func(id string, is error, says string, rows int64) {
		t.Helper()
		err := j.Remove(context.Background(), id, "")
		if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), id) {
			t.Errorf("%s: %v", id, err)
		}
		verify(t, j, rows)
	}
	parent := begin(t, j, "parent", journal.About{})
	say(t, parent, "user 1 a", "assistant 1 b")
	fork := begin(t, other, "fork", journal.About{Parent: "parent", ParentTurn: 1})
	refused("fork", journal.ErrInUse, "", 4)
	refused("parent", journal.ErrInUse, "", 4) // held by this process itself
	parent.Release()
	refused("parent", journal.ErrForked, "was not removed", 4)
	if info(t, j, "parent").InUse {
		t.Error("what was not removed is still held")
	}
	if n := len(turnsOf(t, j, "fork")); n != 2 {
		t.Errorf("%d turns of the fork", n)
	}

	g := newGate(t, other.Executor(nil))
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		refused("s", nil, "calls of it are running", 5)
		if info(t, j, "s").InUse {
			t.Error("what was not removed is still held")
		}
		return callgate.Text(""), nil
	}
	want(t, g.submit(1, call("once", `{}`))[0], "", callgate.Done, "")

	fork.Release()
	for _, id := range []string{"s", "fork", "parent"} {
		if err := j.Remove(context.Background(), id, ""); err != nil {
			t.Error(err)
		}
	}
	if v, err := j.Verify(context.Background()); err != nil || v.Head.Rows != 9 || v.Removed != 6 || v.Removals != 3 || v.Calls != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// An artifact goes with the last call that names it.
func TestSharedArtifact(t *testing.T) {
	path := file(t)
	s := store(t, path)
	j := open(t, path, journal.Options{Artifacts: s})
	a, err := s.Put(context.Background(), strings.NewReader("shared"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, j.Executor(nil))
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		return callgate.Result{Artifact: a.Ref(), Truncated: true}, nil
	}
	g.in("one", 1, call("once", `{}`), call("once", `{"n":2}`)) // twice in one session
	g.in("two", 1, call("once", `{}`))
	for i, id := range []string{"one", "two"} {
		if err := j.Remove(context.Background(), id, ""); err != nil {
			t.Fatal(err)
		}
		if n := kept(t, s); n != 1-i {
			t.Errorf("%d artifacts after %s was removed", n, id)
		}
	}
}

// readFile reads the file in a transaction that lasts until end is called.
func readFile(t testing.TB, path string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := tx.QueryRow(`SELECT count(*) FROM chain`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() { tx.Rollback(); db.Close() }
}

// While somebody reads the file its log cannot be emptied: the session is removed, and
// the error says that bytes remain. The next removal takes them too.
func TestBytesRemainWhileSomebodyReads(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{BusyTimeout: 30 * time.Millisecond})
	g := newGate(t, j.Executor(nil))
	g.in("s", 1, call("once", `{"n":"marker"}`))
	g.in("t", 1, call("once", `{}`))
	end := readFile(t, path)
	err := j.Remove(context.Background(), "s", "")
	if !errors.Is(err, journal.ErrBytesRemain) || !strings.Contains(err.Error(), "somebody reads the file") {
		t.Errorf("got %v", err)
	}
	if err := second(j.SessionInfo(context.Background(), "s")); !errors.Is(err, journal.ErrNoSession) {
		t.Errorf("it is still there: %v", err)
	}
	if !bytes.Contains(onDisk(t, path), []byte("marker")) {
		t.Error("nothing remained")
	}
	// The same of all that are collected, and of a log that nobody may wait for.
	done, err := j.Collect(context.Background(), journal.Retention{Age: time.Nanosecond}, false)
	if !errors.Is(err, journal.ErrBytesRemain) || len(done) != 1 || done[0].Err != nil {
		t.Errorf("%+v, %v", done, err)
	}
	end()
	g.in("t", 1, call("once", `{}`))
	if err := j.Remove(context.Background(), "t", ""); err != nil || bytes.Contains(onDisk(t, path), []byte("marker")) {
		t.Errorf("it remains after the next removal, %v", err)
	}
}

// A removal waits for who reads, and others write meanwhile.
func TestRemovalWaitsForReaders(t *testing.T) {
	path := file(t)
	j, other := open(t, path, journal.Options{BusyTimeout: time.Minute}), open(t, path, journal.Options{})
	newGate(t, j.Executor(nil)).in("s", 1, call("once", `{"n":"marker"}`))
	end := readFile(t, path)
	removed := make(chan error, 1)
	go func() { removed <- j.Remove(context.Background(), "s", "") }()
	for second(other.SessionInfo(context.Background(), "s")) == nil {
		time.Sleep(time.Millisecond)
	}
	for _, j := range []*journal.Journal{j, other} {
		for range 5 {
			want(t, newGate(t, j.Executor(nil)).in("t", int(time.Now().UnixNano()), call("once", `{}`))[0], "", callgate.Done, "")
		}
	}
	select {
	case err := <-removed:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	end()
	if err := <-removed; err != nil || bytes.Contains(onDisk(t, path), []byte("marker")) {
		t.Errorf("it remains, %v", err)
	}
	// Who is told to stop does not wait.
	newGate(t, j.Executor(nil)).in("s", 1, call("once", `{}`))
	defer readFile(t, path)()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := j.Remove(ctx, "s", ""); !errors.Is(err, journal.ErrBytesRemain) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// An artifact that cannot be deleted does not bring the session back.
func TestArtifactThatCannotBeRemoved(t *testing.T) {
	path := file(t)
	s := store(t, path)
	j := open(t, path, journal.Options{Artifacts: s})
	g := spilling(t, j, s)
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		return callgate.Text(strings.Repeat("x", 5000)), nil
	}
	g.submit(1, call("once", `{}`))
	s.Close()
	if err := j.Remove(context.Background(), "s", ""); !errors.Is(err, journal.ErrBytesRemain) {
		t.Errorf("got %v", err)
	}
	if v, err := j.Verify(context.Background()); err != nil || v.Removed != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}
