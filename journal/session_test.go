package journal_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

func begin(t testing.TB, j *journal.Journal, id string, about journal.About) *journal.Session {
	t.Helper()
	s, err := j.Begin(id, about)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func info(t testing.TB, j *journal.Journal, id string) journal.SessionInfo {
	t.Helper()
	i, err := j.SessionInfo(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// records returns the rows of the session's calls.
func records(t testing.TB, j *journal.Journal, session string) (list []journal.Record) {
	t.Helper()
	for rec, err := range j.Calls(context.Background(), session) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rec)
	}
	return list
}

// While a living process holds a session, nobody else adds to it; the others are not
// held up.
func TestSessionOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	start(t, "keeper", dir)
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
	if _, err := j.Begin("s", journal.About{}); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("begun: %v", err)
	}
	if _, err := j.Resume("s"); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("resumed: %v", err)
	}
	if !info(t, j, "s").InUse {
		t.Error("it is not said to be in use")
	}
	g := newGate(t, j.Executor(nil))
	g.Observers = []callgate.Observer{j.Observer()}
	want(t, g.submit(1, call("once", `{}`))[0], callgate.Unavailable, callgate.NotStarted, "another process has the session")
	want(t, g.submit(2, call("nosuch", `{}`))[0], callgate.UnknownTool, callgate.NotStarted, "")
	if g.runs.Load() != 0 || len(records(t, j, "s")) != 0 {
		t.Errorf("%d runs, rows %v", g.runs.Load(), records(t, j, "s"))
	}
	verify(t, j, 1) // the session
	other := callgate.Turn{Session: "other", Number: 1, Calls: []callgate.Call{call("once", `{}`)}}
	want(t, g.Dispatch(context.Background(), g.cat, other)[0], "", callgate.Done, "")
}

// A dead process holds nothing, whoever comes first.
func TestSessionOfADeadProcess(t *testing.T) {
	for what, comes := range map[string]func(*testing.T, *journal.Journal){
		"begin": func(t *testing.T, j *journal.Journal) { begin(t, j, "s", journal.About{}) },
		"resume": func(t *testing.T, j *journal.Journal) {
			if _, err := j.Resume("s"); err != nil {
				t.Error(err)
			}
		},
		"a call": func(t *testing.T, j *journal.Journal) {
			want(t, newGate(t, j.Executor(nil)).submit(1, call("once", `{}`))[0], "", callgate.Done, "")
		},
		"an answer": func(t *testing.T, j *journal.Journal) {
			g := askingGate(t, j, callgate.Answer{Approved: true})
			want(t, g.submit(1, call("once", `{}`))[0], "", callgate.Done, "")
		},
		"a refusal": func(t *testing.T, j *journal.Journal) {
			g := newGate(t, j.Executor(nil))
			g.Observers = []callgate.Observer{j.Observer()}
			g.submit(1, call("nosuch", `{}`))
			if len(records(t, j, "s")) != 1 {
				t.Error("it was not recorded")
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := start(t, "keeper", dir)
			j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
			cmd.Process.Kill()
			cmd.Wait()
			if info(t, j, "s").InUse {
				t.Error("it is said to be in use")
			}
			comes(t, j)
		})
	}
}

// Within a process a session has one holder too, and another journal of the same
// file is another process's to it.
func TestSessionWithinOneProcess(t *testing.T) {
	path := file(t)
	j, other := open(t, path, journal.Options{}), open(t, path, journal.Options{})
	s := begin(t, j, "s", journal.About{Workspace: "/w", Title: "a title"})
	if i := info(t, other, "s"); s.ID() != "s" || !i.InUse || i.Workspace != "/w" || i.Title != "a title" || i.Created.IsZero() || !i.Updated.Equal(i.Created) || i.Turns+i.Calls+i.Open != 0 {
		t.Errorf("%+v", i)
	}
	for _, j := range []*journal.Journal{j, other} {
		if _, err := j.Begin("s", journal.About{}); !errors.Is(err, journal.ErrInUse) || !strings.Contains(err.Error(), "session s") {
			t.Errorf("begun twice: %v", err)
		}
	}
	want(t, newGate(t, other.Executor(nil)).submit(1, call("once", `{}`))[0], callgate.Unavailable, callgate.NotStarted, "")
	want(t, newGate(t, j.Executor(nil)).submit(1, call("once", `{}`))[0], "", callgate.Done, "")
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if info(t, j, "s").InUse {
		t.Error("it is in use although it was released")
	}
	if err := s.Append(&journal.Turn{Role: "user"}); err == nil {
		t.Error("a released session takes turns")
	}
	begin(t, other, "s", journal.About{Title: "another"})
	if i := info(t, j, "s"); i.Title != "a title" || i.Calls != 1 {
		t.Errorf("what was there was made anew: %+v", i)
	}
	// One who was taken for dead does not release the session of who came after it.
	lost := begin(t, j, "lost", journal.About{})
	tamper(t, path, `UPDATE sessions SET owner = (SELECT owner FROM sessions WHERE id = 's') WHERE id = 'lost'`)
	if err := lost.Append(&journal.Turn{Role: "user"}); err == nil {
		t.Error("it takes turns from who does not hold it")
	}
	if err := lost.Release(); err != nil || !info(t, j, "lost").InUse {
		t.Errorf("it was released by who does not hold it: %v", err)
	}
}

// A second Release does not take the session from who has begun it since, here.
func TestReleaseTwice(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	old := begin(t, j, "s", journal.About{})
	old.Release()
	begin(t, j, "s", journal.About{})
	if err := old.Release(); err != nil || !info(t, j, "s").InUse {
		t.Errorf("in use: %t, %v", info(t, j, "s").InUse, err)
	}
	if err := old.Append(&journal.Turn{Role: "user"}); err == nil {
		t.Error("a released session takes turns")
	}
}

// What a process held is free when it closes the journal.
func TestCloseReleases(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	begin(t, j, "s", journal.About{})
	j.Close()
	begin(t, open(t, path, journal.Options{}), "s", journal.About{})
}

// A session that was never begun is there as soon as it has a row.
func TestSessionOfACall(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := newGate(t, j.Executor(nil))
	g.Observers = []callgate.Observer{j.Observer()}
	for session, tool := range map[string]string{"ran": "once", "refused": "nosuch"} {
		g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: session, Number: 1, Calls: []callgate.Call{call(tool, `{}`)}})
		if i := info(t, j, session); i.InUse || i.Calls != 1 || i.Open != 0 || i.Turns != 0 {
			t.Errorf("%+v", i)
		}
	}
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		if i := info(t, j, "open"); i.Calls != 1 || i.Open != 1 {
			t.Errorf("while its call runs: %+v", i)
		}
		return callgate.Text(""), nil
	}
	g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: "open", Number: 1, Calls: []callgate.Call{call("once", `{}`)}})
}

// The session with the newest turn comes first, and each comes once, on however many
// pages.
func TestSessions(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	var want []string
	for i := range 150 {
		id := fmt.Sprintf("s%03d", i)
		if err := begin(t, j, id, journal.About{}).Append(&journal.Turn{Role: "user", Body: []byte(id)}); err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	list := func() (ids []string) {
		for i, err := range j.Sessions(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, i.ID)
		}
		return ids
	}
	slices.Reverse(want)
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("got %d: %q", len(got), got)
	}
	tamper(t, path, `UPDATE sessions SET updated = 1`) // all at one moment
	if got := list(); !slices.Equal(got, want) {
		t.Errorf("of one moment, got %d: %q", len(got), got)
	}
	for range j.Sessions(context.Background()) {
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range j.Sessions(ctx) {
		if err == nil {
			t.Error("a query whose context has ended yields sessions")
		}
	}
}

func TestNoSuchSession(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	ctx := context.Background()
	turns := func(id string) (err error) {
		for _, err = range j.Turns(ctx, id) {
		}
		return err
	}
	for what, err := range map[string]error{
		"resume": second(j.Resume("x")),
		"info":   second(j.SessionInfo(ctx, "x")),
		"turns":  turns("x"),
		"remove": j.Remove(ctx, "x", ""),
		"fork":   second(j.Begin("y", journal.About{Parent: "x"})),
		"itself": second(j.Begin("y", journal.About{Parent: "y"})),
	} {
		if !errors.Is(err, journal.ErrNoSession) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := j.Begin("", journal.About{}); err == nil {
		t.Error("a session without a name")
	}
	for i := range j.Sessions(ctx) {
		t.Errorf("%+v was made", i)
	}
}

func second[T any](_ T, err error) error { return err }
