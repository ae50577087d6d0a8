package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/journal/transfer"
)

// A home is a journal with a place of artifacts.
type home struct {
	*journal.Journal
	dir   string
	store *artifact.Store
}

func newHome(t testing.TB, opts journal.Options) home {
	t.Helper()
	h := home{dir: t.TempDir()}
	var err error
	if h.store, err = artifact.Open(filepath.Join(h.dir, "artifacts"), artifact.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.store.Close() })
	opts.Artifacts = h.store
	h.Journal = open(t, filepath.Join(h.dir, "journal.db"), opts)
	return h
}

// left says what is in the home: sessions, rows of the chain, outputs, files.
func (h home) left(t testing.TB) string {
	t.Helper()
	sessions := []string{}
	for info, err := range h.Sessions(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, info.ID)
	}
	head, err := h.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := h.store.List()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "*import*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(sessions)
	return fmt.Sprintf("sessions %q, %d rows, %d outputs, files %q", sessions, head.Rows, len(outputs), files)
}

func export(t testing.TB, h home, session string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := h.Export(context.Background(), session, &b, journal.ExportOptions{Artifacts: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func bring(t testing.TB, h home, file []byte, as string) (names []string) {
	t.Helper()
	list, err := h.Import(context.Background(), bytes.NewReader(file), as)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		names = append(names, info.ID)
	}
	return names
}

type exported struct {
	Sessions []transfer.Session
	Items    []transfer.Item
}

// parse reads a file but for its head.
func parse(t testing.TB, file []byte) (e exported) {
	t.Helper()
	r, err := transfer.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	e.Sessions = r.Header.Sessions
	for {
		it, err := r.Next()
		if err == io.EOF {
			return e
		} else if err != nil {
			t.Fatal(err)
		}
		e.Items = append(e.Items, it)
	}
}

// story records turns of a session at random: calls that run, fail, run again, are
// refused, asked for, or have long outputs.
func (h home) story(t testing.TB, r *rand.Rand, session string, about journal.About, from, to int) {
	t.Helper()
	s := begin(t, h.Journal, session, about)
	defer s.Release()
	g := newGate(t, h.Executor(nil))
	g.Observers = []callgate.Observer{h.Observer()}
	g.Policy = func(_ context.Context, req callgate.Request) (callgate.Decision, error) {
		return callgate.Decision{Verdict: []callgate.Verdict{callgate.Allow, callgate.Ask, callgate.Deny}[len(req.Call.Arguments)%3], Rule: "r", Reason: "because"}, nil
	}
	g.Approver = h.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Approved: r.IntN(3) > 0, By: "me", Message: "müde"}, nil
	})
	g.do = func(ctx context.Context, c callgate.Call, run int) (callgate.Result, error) {
		switch run % 4 {
		case 0:
			return callgate.Result{}, errors.New("no luck")
		case 1:
			a, err := h.store.Put(ctx, strings.NewReader(c.Identity.String()))
			return callgate.Result{Content: []callgate.Content{{Text: "cut"}}, Artifact: a.Ref(), Truncated: true}, err
		case 2:
			return callgate.Result{}, &callgate.Error{Code: callgate.Unavailable, NotStarted: true, Message: "not now"}
		}
		return callgate.Text("done"), nil
	}
	for n := from; n <= to; n++ {
		if err := s.Append(&journal.Turn{Number: n, Role: "user", Format: "f", Body: []byte(fmt.Sprint("user ", n))}); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(&journal.Turn{Number: n, Role: journal.Assistant, Body: []byte{byte(n), 0xff}, Model: "m", Stop: "end", Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}); err != nil {
			t.Fatal(err)
		}
		var calls []callgate.Call
		for range r.IntN(4) {
			calls = append(calls, call([]string{"once", "again", "read", "nosuch"}[r.IntN(4)], `{"x":"`+strings.Repeat("y", r.IntN(3))+`"}`))
		}
		for range 1 + r.IntN(2) {
			g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: session, Number: n, Calls: calls})
		}
	}
}

// What is exported, imported elsewhere and exported again is the same, but for the
// head of the journal that it comes from.
func TestExportOfAnImport(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		h := newHome(t, journal.Options{Sandbox: "none"})
		h.story(t, r, "a", journal.About{Workspace: "/ws", Title: "A title"}, 1, 4)
		fork := 1 + r.IntN(4)
		h.story(t, r, "b", journal.About{Parent: "a", ParentTurn: fork}, fork+1, fork+2)
		last := 1 + r.IntN(fork+2)
		h.story(t, r, "c", journal.About{Parent: "b", ParentTurn: last}, last+1, last+2)
		for _, session := range []string{"a", "b", "c"} {
			first := export(t, h, session)
			other := newHome(t, journal.Options{})
			other.story(t, r, "other", journal.About{}, 1, 1)
			names := bring(t, other, first, "")
			if names[len(names)-1] != session {
				t.Errorf("imported: %q", names)
			}
			if a, b := parse(t, first), parse(t, export(t, other, session)); !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d, session %s:\n%+v\nwant\n%+v", seed, session, b, a)
			}
			if _, err := other.Verify(context.Background()); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			var turns, again []journal.Turn
			for turn := range h.Turns(context.Background(), session) {
				turns = append(turns, turn)
			}
			for turn := range other.Turns(context.Background(), session) {
				again = append(again, turn)
			}
			if !reflect.DeepEqual(turns, again) {
				t.Errorf("seed %d: the turns are %v, want %v", seed, again, turns)
			}
		}
	}
}

const odd = "é\x00\xff\"\\\n "

// odds returns a file whose every member has a value of its own.
func odds(t testing.TB) []byte {
	t.Helper()
	n := int64(1000)
	fill := func(v any) {
		for f := range reflect.ValueOf(v).Elem().Fields() {
			field := reflect.ValueOf(v).Elem().FieldByIndex(f.Index)
			n++
			switch field.Interface().(type) {
			case transfer.Text:
				field.SetString(f.Name + odd)
			case int64:
				field.SetInt(n)
			case bool:
				field.SetBool(true)
			}
		}
	}
	sum := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	var s transfer.Session
	fill(&s)
	s.ParentTurn = 0
	var turn transfer.Turn
	fill(&turn)
	turn.Session, turn.Pos, turn.Digest = s.ID, 0, sum("what was there")
	var a transfer.Approval
	fill(&a)
	a.Session, a.Digest = s.ID, sum("call")
	var c transfer.Call
	fill(&c)
	c.Session, c.Run, c.Digest, c.Effect, c.Verdict, c.State, c.Code = s.ID, 0, sum("before"), "idempotent", "ask", "canceled", "timeout"
	c.Labels, c.Artifact, c.ArtifactSum = `{"a":"b"}`, "abcdefghijklmnopqrst", sum("whole")
	c.Result = ` {"state":"canceled","code":"timeout","artifact":"artifact:abcdefghijklmnopqrst","unknown":1}` + "\n"
	var b bytes.Buffer
	w, err := transfer.NewWriter(&b, transfer.Header{Head: journal.Head{}.String(), Sessions: []transfer.Session{s}})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range []transfer.Item{{Turn: &turn}, {Approval: &a}, {Call: &c}, {Artifact: &transfer.Artifact{ID: c.Artifact, Size: 5, SHA256: c.ArtifactSum}}, {Piece: []byte("whole")}} {
		if err := w.Write(it); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every column is carried over, byte for byte.
func TestEveryColumn(t *testing.T) {
	file := odds(t)
	h := newHome(t, journal.Options{})
	names := bring(t, h, file, "")
	if a, b := parse(t, file), parse(t, export(t, h, names[0])); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\nwant\n%+v", b, a)
	}
	verify(t, h.Journal, 4)
}

// The rows of an import are nobody's: a journal that is opened again leaves them as
// they are, whatever files lie beside it.
func TestImportedRowsHaveNoOwner(t *testing.T) {
	h := newHome(t, journal.Options{})
	bring(t, h, odds(t), "x")
	h.Close()
	path := filepath.Join(h.dir, "journal.db")
	if err := os.WriteFile(path+"-owner-import", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, path, journal.Options{})
	if n, err := j.Recover(context.Background()); n != 0 || err != nil {
		t.Errorf("%d calls, %v", n, err)
	}
	verify(t, j, 4)
	if i := info(t, j, "x"); i.InUse || i.Open != 0 || i.Calls != 1 {
		t.Errorf("%+v", i)
	}
	begin(t, j, "x", journal.About{}).Release()
}

// Names are those of the file or of whoever imports it; none is taken twice.
func TestImportNames(t *testing.T) {
	h := newHome(t, journal.Options{})
	r := rand.New(rand.NewPCG(1, 1))
	h.story(t, r, "a", journal.About{}, 1, 3)
	h.story(t, r, "b", journal.About{Parent: "a", ParentTurn: 2}, 3, 3)
	h.story(t, r, "c", journal.About{Parent: "b", ParentTurn: 3}, 4, 4)
	file := export(t, h, "c")
	if got := bring(t, h, file, "copy"); !slices.Equal(got, []string{"copy.parent2", "copy.parent1", "copy"}) {
		t.Errorf("%q", got)
	}
	if i := info(t, h.Journal, "copy"); i.Parent != "copy.parent1" || i.ParentTurn != 3 {
		t.Errorf("%+v", i)
	}
	if i := info(t, h.Journal, "copy.parent2"); i.Parent != "" || i.Turns != 2 {
		t.Errorf("%+v: a fork takes what it shares, and no more", i)
	}
	other := newHome(t, journal.Options{})
	begin(t, other.Journal, "b", journal.About{}).Release()
	begin(t, other.Journal, "x.parent1", journal.About{}).Release()
	before := other.left(t)
	for _, as := range []string{"", "x"} {
		if _, err := other.Import(context.Background(), bytes.NewReader(file), as); !errors.Is(err, journal.ErrExists) {
			t.Errorf("as %q: %v", as, err)
		}
	}
	header, _, _ := bytes.Cut(file, []byte("\n"))
	unread := io.MultiReader(bytes.NewReader(append(header, '\n')), iotest.ErrReader(errors.New("it was read")))
	if _, err := other.Import(context.Background(), unread, "x"); !errors.Is(err, journal.ErrExists) {
		t.Errorf("a taken name is said after more than the first line: %v", err)
	}
	if after := other.left(t); after != before {
		t.Errorf("%s\nwant %s", after, before)
	}
}

// What was imported answers the same turn, and nothing runs again; another turn runs.
func TestImportAnswers(t *testing.T) {
	h := newHome(t, journal.Options{})
	g := newGate(t, h.Executor(nil))
	first := g.submit(1, call("once", `{"n":1}`), call("read", `{"n":2}`))
	other := newHome(t, journal.Options{})
	bring(t, other, export(t, h, "s"), "")
	g = newGate(t, other.Executor(nil))
	for i, res := range g.submit(1, call("once", `{"n":1}`), call("read", `{"n":2}`)) {
		want(t, res, "", callgate.Done, first[i].ContentText())
		if !res.Recorded {
			t.Errorf("call %d is not answered from the record", i)
		}
	}
	want(t, g.submit(1, call("once", `{"n":2}`))[0], callgate.Conflict, callgate.NotStarted, "submitted before")
	if g.runs.Load() != 0 {
		t.Errorf("%d runs", g.runs.Load())
	}
	want(t, g.submit(2, call("once", `{}`))[0], "", callgate.Done, "")
	verify(t, other.Journal, 4)
}

// A call that runs cannot be exported, one whose process died can.
func TestExportOfOpenCalls(t *testing.T) {
	h := newHome(t, journal.Options{})
	g := newGate(t, h.Executor(nil))
	started, end := make(chan bool), make(chan bool)
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		close(started)
		<-end
		return callgate.Text("done"), nil
	}
	done := make(chan bool)
	go func() { g.submit(1, call("once", `{}`)); close(done) }()
	<-started
	if err := h.Export(context.Background(), "s", io.Discard, journal.ExportOptions{}); err == nil || !strings.Contains(err.Error(), "call 1/0: it is open") {
		t.Error(err)
	}
	close(end)
	<-done
	if err := h.Export(context.Background(), "s", io.Discard, journal.ExportOptions{}); err != nil {
		t.Error(err)
	}
	if err := h.Export(context.Background(), "t", io.Discard, journal.ExportOptions{}); !errors.Is(err, journal.ErrNoSession) {
		t.Error(err)
	}
}

// What is spooled is exported, and audited, as if it were in the database already.
func TestExportOfAHeldSession(t *testing.T) {
	h := newHome(t, journal.Options{})
	s := begin(t, h.Journal, "s", journal.About{})
	defer s.Release()
	g := newGate(t, h.Executor(nil))
	g.submit(1, call("read", `{"n":1}`))
	if e := parse(t, export(t, h, "s")); len(e.Items) != 1 || e.Items[0].Call.Arguments != `{"n":1}` {
		t.Errorf("%+v", e)
	}
	g.submit(2, call("read", `{"n":2}`))
	if rows, _ := audit(t, h.Journal); len(rows) != 3 { // with the session
		t.Errorf("%+v", rows)
	}
}

// What a dead process left open is settled, and then exported.
func TestExportOfADeadProcess(t *testing.T) {
	dir := t.TempDir()
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
	cmd := hold(t, dir)
	cmd.Process.Kill()
	cmd.Wait()
	var b bytes.Buffer
	if err := j.Export(context.Background(), "s", &b, journal.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"state":"unknown","code":"outcome_unknown"`) {
		t.Error(b.String())
	}
}

// Whatever goes wrong, nothing of an import is left.
func TestImportOfNothing(t *testing.T) {
	file := string(odds(t))
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		in   io.Reader
		says string
	}{
		"empty":          {context.Background(), strings.NewReader(""), "line 1: the file is empty"},
		"cut":            {context.Background(), strings.NewReader(file[:strings.LastIndex(file, `{"end"`)]), "it was cut"},
		"a changed byte": {context.Background(), strings.NewReader(strings.Replace(file, `"verdict":"ask"`, `"verdict":"deny"`, 1)), "the file was changed"},
		"canceled":       {canceled, strings.NewReader(file), "context canceled"},
		"a read fails":   {context.Background(), io.MultiReader(strings.NewReader(file[:len(file)-200]), iotest.ErrReader(errors.New("no tape"))), "no tape"},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHome(t, journal.Options{})
			before := h.left(t)
			if _, err := h.Import(c.ctx, c.in, ""); err == nil || !strings.Contains(err.Error(), "nothing was imported") || !strings.Contains(err.Error(), c.says) {
				t.Error(err)
			}
			if after := h.left(t); after != before {
				t.Errorf("%s\nwant %s", after, before)
			}
		})
	}
}

// What an output is cannot be changed by a file that names it, and it stays as long as
// a session names it.
func TestImportedArtifacts(t *testing.T) {
	ctx := context.Background()
	h := newHome(t, journal.Options{})
	g := newGate(t, h.Executor(nil))
	var kept artifact.Artifact
	g.do = func(ctx context.Context, c callgate.Call, _ int) (_ callgate.Result, err error) {
		kept, err = h.store.Put(ctx, strings.NewReader("whole"))
		return callgate.Result{Artifact: kept.Ref(), Truncated: true}, err
	}
	g.submit(1, call("once", `{}`))
	file := export(t, h, "s")
	bring(t, h, file, "copy")
	if err := h.Remove(ctx, "s", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Stat(kept.ID); err != nil {
		t.Errorf("the copy has lost its output: %v", err)
	}
	if err := h.Remove(ctx, "copy", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Stat(kept.ID); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("the output is left: %v", err)
	}
	bring(t, h, file, "back")
	r, err := h.store.Open(kept.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, _ := io.ReadAll(r); string(b) != "whole" {
		t.Errorf("%q", b)
	}

	// A file that says another digest of an output which is here.
	forged := bytes.ReplaceAll(file, fmt.Appendf(nil, "%x", kept.SHA256), fmt.Appendf(nil, "%x", sha256.Sum256(nil)))
	lines := bytes.SplitAfter(forged, []byte("\n"))
	forged = reseal(lines[0], lines[1])
	before := h.left(t)
	if _, err := h.Import(ctx, bytes.NewReader(forged), "thief"); err == nil || !strings.Contains(err.Error(), "which is another one here") {
		t.Error(err)
	}
	if after := h.left(t); after != before {
		t.Errorf("%s\nwant %s", after, before)
	}

	// Without a place of artifacts.
	j := open(t, filepath.Join(t.TempDir(), "journal.db"), journal.Options{})
	if _, err := j.Import(ctx, bytes.NewReader(file), ""); err == nil || !strings.Contains(err.Error(), "no place of artifacts") {
		t.Error(err)
	}
	if err := h.Export(ctx, "back", io.Discard, journal.ExportOptions{}); err != nil {
		t.Error(err)
	}
	if err := h.store.Remove(kept.ID); err != nil {
		t.Fatal(err)
	}
	if err := h.Export(ctx, "back", io.Discard, journal.ExportOptions{Artifacts: true}); !errors.Is(err, artifact.ErrNotFound) {
		t.Error(err)
	}
}

// reseal returns lines of a file with one call as a file.
func reseal(lines ...[]byte) []byte {
	all := bytes.Join(lines, nil)
	return fmt.Appendf(all, `{"end":{"turns":0,"approvals":0,"calls":1,"artifacts":0,"sha256":"%x"}}`+"\n", sha256.Sum256(all))
}

// What must not be stored is not imported either.
func TestImportRedacts(t *testing.T) {
	h := newHome(t, journal.Options{})
	g := newGate(t, h.Executor(nil))
	s := begin(t, h.Journal, "s", journal.About{Title: "hunter2"})
	if err := s.Append(&journal.Turn{Number: 1, Role: "user", Body: []byte("hunter2")}); err != nil {
		t.Fatal(err)
	}
	g.Policy = func(context.Context, callgate.Request) (callgate.Decision, error) {
		return callgate.Decision{Verdict: callgate.Ask, Reason: "hunter2"}, nil
	}
	g.Approver = h.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Approved: true, Message: "hunter2"}, nil
	})
	g.submit(1, call("once", `{"password":"hunter2"}`))
	file := export(t, h, "s")
	if n := bytes.Count(file, []byte("hunter2")); n < 6 {
		t.Fatalf("it is there %d times", n)
	}
	other := newHome(t, journal.Options{Redact: []*regexp.Regexp{regexp.MustCompile("hunter2")}})
	bring(t, other, file, "")
	if again := export(t, other, "s"); bytes.Contains(again, []byte("hunter2")) {
		t.Errorf("%s", again)
	}
	g = newGate(t, other.Executor(nil))
	if res := g.submit(1, call("once", `{"password":"hunter2"}`))[0]; !res.Recorded || g.runs.Load() != 0 {
		t.Errorf("%v", res)
	}
	for _, rec := range records(t, other.Journal, "s") {
		if !rec.Redacted {
			t.Error("it is not said to be redacted")
		}
	}
}

// importer imports a file until it is killed.
func importer(dir string) int {
	j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
	if err != nil {
		panic(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	for n := 0; ; n++ {
		if _, err := j.Import(context.Background(), bytes.NewReader(file), fmt.Sprint("s", n)); err != nil {
			panic(err)
		}
	}
}

// A process that is killed while it imports leaves whole sessions, or none.
func TestKilledWhileImporting(t *testing.T) {
	h := newHome(t, journal.Options{})
	g := newGate(t, h.Executor(nil))
	for turn := range 20 {
		g.submit(turn, call("read", `{}`), call("read", `{"text":"`+strings.Repeat("x", 10_000)+`"}`))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), export(t, h, "s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		cmd := start(t, "importer", dir)
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
		if _, err := j.Verify(context.Background()); err != nil {
			t.Error(err)
		}
		for info, err := range j.Sessions(context.Background()) {
			if err != nil || info.Calls != 40 {
				t.Errorf("%+v, %v", info, err)
			}
			if err := j.Remove(context.Background(), info.ID, ""); err != nil {
				t.Error(err)
			}
		}
		j.Close()
		files, _ := filepath.Glob(filepath.Join(dir, "*-import-*"))
		for _, f := range files { // one that had no content yet may be left
			if st, err := os.Stat(f); err == nil && st.Size() > 0 && runtime.GOOS != "windows" {
				t.Errorf("run %d left %s", n, f)
			}
		}
	}
}
