package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/callgatetest"
	"github.com/callgate/callgate/journal"
)

func open(t testing.TB, path string, opts journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "journal.db") }

// A handler that is given the call and how often it was run before.
type handler func(ctx context.Context, c callgate.Call, run int) (callgate.Result, error)

// A gate is a dispatcher over a journal, with the tools once, again (idempotent)
// and read that do the same.
type gate struct {
	callgate.Dispatcher
	cat  *callgate.Catalog
	runs atomic.Int32
	do   handler
}

func newGate(t testing.TB, e callgate.Executor) *gate {
	g := &gate{}
	g.Executor, g.Policy, g.Grace = e, callgate.AllowAll, 250*time.Millisecond
	g.do = func(_ context.Context, c callgate.Call, _ int) (callgate.Result, error) {
		return callgate.Text(string(c.Arguments)), nil
	}
	var r callgate.Registry
	for name, a := range map[string]callgate.Annotations{"once": {}, "again": {IdempotentHint: true}, "read": {ReadOnlyHint: true}} {
		a.OpenWorldHint = new(false)
		if err := r.Register(callgate.Tool{
			Spec: callgate.Spec{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), TimeoutMS: 20_000, Annotations: a, Labels: map[string]string{"team": "a", "cost": "b"}},
			Handler: func(ctx context.Context, c callgate.Call) (callgate.Result, error) {
				return g.do(ctx, c, int(g.runs.Add(1))-1)
			},
			Access: func(json.RawMessage) []callgate.Access { return nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	g.cat = r.Catalog()
	return g
}

func call(tool, args string) callgate.Call {
	return callgate.Call{ID: "call_" + tool, Name: tool, Arguments: json.RawMessage(args)}
}

// submit dispatches a turn of the session "s".
func (g *gate) submit(turn int, calls ...callgate.Call) []callgate.Result {
	return g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: "s", Number: turn, Calls: calls})
}

func want(t *testing.T, r callgate.Result, code callgate.Code, state callgate.State, text string) {
	t.Helper()
	if r.Code != code || r.State != state || !strings.Contains(r.ModelText(), text) {
		t.Errorf("got %q, state %s; want code %q, state %s and %q", r, r.State, code, state, text)
	}
}

func verify(t *testing.T, j *journal.Journal, rows int64) journal.Head {
	t.Helper()
	v, err := j.Verify(context.Background(), journal.Head{})
	if err != nil || v.Head.Rows != rows {
		t.Errorf("the chain has %d rows, %v; want %d", v.Head.Rows, err, rows)
	}
	return v.Head
}

func TestExecutor(t *testing.T) {
	callgatetest.TestExecutor(t, func(t *testing.T) callgate.Executor {
		return open(t, file(t), journal.Options{}).Executor(nil)
	})
}

func TestExecutorAroundAnother(t *testing.T) {
	callgatetest.TestExecutor(t, func(t *testing.T) callgate.Executor {
		return open(t, file(t), journal.Options{}).Executor(new(callgate.Local))
	})
}

// What a process recorded answers the next one.
func TestAnsweredAfterARestart(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	g := newGate(t, j.Executor(nil))
	first := g.submit(1, call("once", `{"n":1}`), call("read", `{"n":2}`), call("again", `{"n":3}`))
	for _, r := range first {
		want(t, r, "", callgate.Done, `{"n":`)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, path, journal.Options{})
	g = newGate(t, j.Executor(nil))
	for i, r := range g.submit(1, call("once", `{"n":1}`), call("read", `{"n":2}`), call("again", `{"n":3}`)) {
		want(t, r, "", callgate.Done, first[i].ContentText())
		if !r.Recorded {
			t.Errorf("call %d was not answered from the record", i)
		}
	}
	want(t, g.submit(1, call("once", `{"n":4}`))[0], callgate.Conflict, callgate.NotStarted, "submitted before")
	if n := g.runs.Load(); n != 0 {
		t.Errorf("%d handlers ran again", n)
	}
	verify(t, j, 4)
}

// A call that did not start, or whose repetition is harmless, runs again and has a
// row for each run; a settled row is never changed.
func TestRunsAgain(t *testing.T) {
	// A read has no effect to be in doubt about: it failed, and that is recorded.
	for tool, runs := range map[string]int32{"once": 1, "again": 2, "read": 1} {
		t.Run(tool, func(t *testing.T) {
			j := open(t, file(t), journal.Options{})
			g := newGate(t, j.Executor(nil))
			g.do = func(ctx context.Context, c callgate.Call, run int) (callgate.Result, error) {
				if run == 0 {
					return callgate.Result{}, callgate.Errorf(callgate.OutcomeUnknown, "the line went dead")
				}
				return callgate.Text("second"), nil
			}
			g.submit(1, call(tool, `{}`))
			r := g.submit(1, call(tool, `{}`))[0]
			if got := g.runs.Load(); got != runs {
				t.Errorf("%d runs, want %d; answered %q", got, runs, r)
			}
			rows := 0
			for rec, err := range j.Calls(context.Background(), "s") {
				if err != nil || rec.Run != rows || !rec.Settled {
					t.Errorf("run %d: %+v, %v", rows, rec, err)
				}
				rows++
			}
			if int32(rows) != g.runs.Load() {
				t.Errorf("%d rows for %d runs", rows, g.runs.Load())
			}
			verify(t, j, int64(1+rows))
		})
	}
}

func TestAnonymousCallsLeaveNoRow(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := newGate(t, j.Executor(nil))
	want(t, g.Dispatch(context.Background(), g.cat, callgate.Calls(call("once", `{}`)))[0], "", callgate.Done, "{}")
	verify(t, j, 0)
}

// Everything that an operator asks about a call is in its row.
func TestRecord(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := newGate(t, j.Executor(nil))
	g.Policy = func(context.Context, callgate.Request) (callgate.Decision, error) {
		return callgate.Decision{Verdict: callgate.Ask, Rule: "rule-7", Reason: "it writes"}, nil
	}
	g.Approver = func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Approved: true, By: "ada"}, nil
	}
	before := time.Now().Add(-time.Millisecond)
	g.submit(4, call("once", `{"n": 9007199254740993}`))
	digest := ""
	for _, s := range g.cat.Specs() {
		if s.Name == "once" {
			digest, _ = s.Digest()
		}
	}
	n := 0
	for rec, err := range j.Calls(context.Background(), "s") {
		n++
		if err != nil {
			t.Fatal(err)
		}
		if rec.Identity != (callgate.Identity{Session: "s", Turn: 4}) || rec.CallID != "call_once" || rec.Tool != "once" || rec.ToolDigest != digest ||
			rec.Effect != "once" || string(rec.Arguments) != `{"n": 9007199254740993}` || rec.Decision.Rule != "rule-7" || rec.Decision.By != "ada" ||
			rec.Labels["team"] != "a" || rec.Attempts != 1 || rec.State != callgate.Done || rec.Code != "" || rec.Truncated || rec.Result.Recorded ||
			rec.Result.ContentText() != `{"n": 9007199254740993}` {
			t.Errorf("got %+v", rec)
		}
		for _, at := range []time.Time{rec.Claimed, rec.Started, rec.Ended} {
			if at.Before(before) || time.Since(at) < 0 {
				t.Errorf("a time is off: %v, %v, %v", rec.Claimed, rec.Started, rec.Ended)
			}
			before = at
		}
		if head, err := j.Head(context.Background()); err != nil || head.Rows != rec.Place {
			t.Errorf("head %v, %v; the row's is %v", head, err, rec.Place)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}

// Queries come in pages, in order, and only what was asked for.
func TestQueries(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := newGate(t, j.Executor(nil))
	var wg sync.WaitGroup
	for _, session := range []string{"s", "t"} {
		for turn := range 100 {
			wg.Go(func() {
				g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: session, Number: turn - 50, Calls: []callgate.Call{
					call("read", fmt.Sprintf(`{"n":%d}`, turn)), call("again", `{}`), call("read", `{}`)}})
			})
		}
	}
	wg.Wait()
	want, session := callgate.Identity{Session: "t", Turn: -50}, j.Calls(context.Background(), "t")
	for range 2 {
		n := 0
		for rec, err := range session {
			want.Turn, want.Index = n/3-50, n%3
			if err != nil || rec.Identity != want {
				t.Fatalf("row %d: %v, %v; want %v", n, rec.Identity, err, want)
			}
			n++
		}
		if n != 300 {
			t.Errorf("%d rows of the session", n)
		}
	}
	n, last := 0, int64(0)
	for rec, err := range j.Tool(context.Background(), "read") {
		if err != nil || rec.Tool != "read" || rec.ID <= last {
			t.Fatalf("row %d: %+v, %v", n, rec, err)
		}
		n, last = n+1, rec.ID
	}
	if n != 400 {
		t.Errorf("%d rows of the tool", n)
	}
	for range j.Tool(context.Background(), "read") {
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range j.Calls(ctx, "t") {
		if err == nil {
			t.Error("a query whose context has ended yields rows")
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct{ path, says string }{
		{dir, "it is a directory"},
		{filepath.Join(dir, "missing", "j.db"), "no such file or directory"},
		{write("text", strings.Repeat("no database at all\n", 100)), "file is not a database"},
		{os.DevNull, "it is not a regular file"},
	} {
		j, err := journal.Open(c.path, journal.Options{})
		if err == nil {
			j.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v, want %q", c.path, err, c.says)
		}
	}
}

// A path is a path, whatever characters are in it; nobody else can read the file,
// and nothing but the database is left when it is closed.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a?b=%41#c d'.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	j := open(t, path, journal.Options{})
	newGate(t, j.Executor(nil)).submit(1, call("once", `{}`))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files beside each other, want the database, its log, its index and the owner's: %v", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(e.Name(), filepath.Base(path)) {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestClosed(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := newGate(t, j.Executor(nil))
	j.Close()
	want(t, g.submit(1, call("once", `{}`))[0], callgate.Internal, callgate.NotStarted, "the call was not run")
	if g.runs.Load() != 0 {
		t.Error("it ran")
	}
}
