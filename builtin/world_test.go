package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/workspace"
)

// A world is a workspace on disk, with the file tools behind a real dispatcher
// that allows everything. Its calls are turns of session "s".
type world struct {
	t     testing.TB
	dir   string
	files *Files
	gate  *callgate.Dispatcher
	tools *callgate.Catalog
	turn  int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldAt(t, t.TempDir())
}

func worldAt(t testing.TB, dir string) *world {
	t.Helper()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return worldOf(t, dir, &Files{Workspace: ws})
}

func worldOf(t testing.TB, dir string, f *Files) *world {
	t.Helper()
	tools, err := f.Tools()
	if err != nil {
		t.Fatal(err)
	}
	var r callgate.Registry
	if err := r.Register(tools...); err != nil {
		t.Fatal(err)
	}
	return &world{t: t, dir: dir, files: f, tools: r.Catalog(), gate: &callgate.Dispatcher{
		Policy:  callgate.AllowAll,
		Resolve: map[string]func(string) []string{"file:": f.ResolveKey},
	}}
}

// call makes a turn of one call: args are names and values in turn.
func (w *world) call(name string, args ...any) callgate.Result {
	w.t.Helper()
	return w.callAs("s", name, args...)
}

func (w *world) callAs(session, name string, args ...any) callgate.Result {
	w.t.Helper()
	return w.dispatch(session, propose(name, args...))[0]
}

func (w *world) dispatch(session string, calls ...callgate.Call) []callgate.Result {
	w.turn++
	return w.gate.Dispatch(context.Background(), w.tools, callgate.Turn{Session: session, Number: w.turn, Calls: calls})
}

func propose(name string, args ...any) callgate.Call {
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return callgate.Call{ID: "c", Name: name, Arguments: b}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// put writes a file from outside the gate, with its directories.
func (w *world) put(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(name, target string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// has fails unless the file holds exactly content.
func (w *world) has(name, content string) {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	if string(b) != content {
		w.t.Fatalf("%s holds\n%q\nwant\n%q", name, b, content)
	}
}

// ok fails unless r is a success, and returns what the model reads.
func (w *world) ok(r callgate.Result) string {
	w.t.Helper()
	if r.IsError() {
		w.t.Fatalf("%s failed: %s", r.Tool, r.ModelText())
	}
	return r.ModelText()
}

// fails fails unless r has the code, and says every one of the words.
func (w *world) fails(r callgate.Result, code callgate.Code, words ...string) {
	w.t.Helper()
	if r.Code != code {
		w.t.Fatalf("%s: code %q, want %q: %s", r.Tool, r.Code, code, r.ModelText())
	}
	w.says(r, words...)
}

func (w *world) says(r callgate.Result, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if !strings.Contains(r.ModelText(), word) {
			w.t.Fatalf("%s does not say %q:\n%s", r.Tool, word, r.ModelText())
		}
	}
}

// structured reads the typed form of a result.
func structured[T any](t testing.TB, r callgate.Result) (v T) {
	t.Helper()
	if err := json.Unmarshal(r.Structured, &v); err != nil {
		t.Fatalf("%v in %s", err, r.ModelText())
	}
	return v
}

// lines returns n numbered lines.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}
