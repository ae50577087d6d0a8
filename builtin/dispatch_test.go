package builtin

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate"
)

// Two edits of one file in one turn both happen, whatever its name is (H094, H095).
func TestEditsOfOneFileInOneTurn(t *testing.T) {
	for _, second := range []string{"d/a.txt", "./d/../link/a.txt", "hard.txt", "l.txt"} {
		w := newWorld(t)
		w.put("d/a.txt", "one\ntwo\n")
		w.link("link", "d")
		w.link("l.txt", "link/a.txt")
		watch := &writers{open: map[string]bool{}}
		w.gate.Middleware = []callgate.Middleware{watch.middleware(w)}
		repeats := 25 // each waits for the disk eight times
		if os.Getenv("CI") != "" {
			repeats = 200
		}
		for range repeats {
			w.put("d/a.txt", "one\ntwo\n")
			if second == "hard.txt" {
				os.Remove(w.path("hard.txt"))
				if err := os.Link(w.path("d/a.txt"), w.path("hard.txt")); err != nil {
					t.Fatal(err)
				}
			}
			for _, r := range w.dispatch("",
				propose("edit_file", "path", "d/a.txt", "old_text", "one", "new_text", "ONE"),
				propose("edit_file", "path", second, "old_text", "two", "new_text", "TWO")) {
				w.ok(r)
			}
			if second != "hard.txt" { // a hard link is cut off by the first write, not written through
				w.has("d/a.txt", "ONE\nTWO\n")
			}
		}
		if len(watch.met) > 0 {
			t.Errorf("%s: two writers at once: %v", second, watch.met)
		}
	}
}

// writers records the files that calls hold, and those that two held at once.
type writers struct {
	mu   sync.Mutex
	open map[string]bool
	met  []string
}

func (h *writers) middleware(w *world) callgate.Middleware {
	return func(x *callgate.Execution, next callgate.Handler) callgate.Handler {
		return func(ctx context.Context, call callgate.Call) (callgate.Result, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return callgate.Result{}, err
			}
			keys := w.files.Workspace.Key(in.Path)
			key := keys[len(keys)-1]
			h.mu.Lock()
			if h.open[key] {
				h.met = append(h.met, in.Path)
			}
			h.open[key] = true
			h.mu.Unlock()
			defer func() {
				h.mu.Lock()
				delete(h.open, key)
				h.mu.Unlock()
			}()
			return next(ctx, call)
		}
	}
}

// A read after a write of one turn sees what was written, whoever approves (H096).
func TestWriteThenReadInOneTurn(t *testing.T) {
	approve := func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Approved: true}, nil
	}
	for name, gate := range map[string]*callgate.Dispatcher{
		"allow all":    {Policy: callgate.AllowAll},
		"ask a person": {Policy: callgate.ReadOnlyTools, Approver: approve},
	} {
		w := newWorld(t)
		gate.Resolve = w.gate.Resolve
		w.gate = gate
		for i := range 100 {
			want := strings.Repeat("x", i+1)
			results := w.dispatch("s",
				propose("write_file", "path", "a", "content", want),
				propose("read_file", "path", "a"),
				propose("glob", "pattern", "**"),
				propose("grep", "pattern", want, "mode", "count"))
			for _, r := range results {
				if r.IsError() {
					t.Fatalf("%s: %s", name, r.ModelText())
				}
			}
			if got := results[1].ContentText(); got != "     1\t"+want {
				t.Fatalf("%s: read %q after writing %q", name, got, want)
			}
			if got := results[3].ContentText(); got != "a:1" {
				t.Fatalf("%s: grep: %q", name, got)
			}
		}
	}
}

// Links and directories outside stay outside for every tool (H157).
func TestNothingIsWrittenOutside(t *testing.T) {
	top := t.TempDir()
	outside := mkdir(t, top, "o")
	w := worldAt(t, mkdir(t, top, "w"))
	w.link("out", "../o")
	w.fails(w.call("write_file", "path", "out/p.txt", "content", "x"), callgate.ExecutionError, "outside the workspace")
	w.fails(w.call("edit_file", "path", "out/p.txt", "old_text", "x", "new_text", "y"), callgate.ExecutionError, "outside the workspace")
	w.fails(w.call("read_file", "path", "out/p.txt"), callgate.ExecutionError, "outside the workspace")
	w.fails(w.call("glob", "pattern", "*", "path", "out"), callgate.ExecutionError, "outside the workspace")
	w.fails(w.call("grep", "pattern", "x", "path", "out"), callgate.ExecutionError, "outside the workspace")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Fatalf("%v %v", entries, err)
	}
}

// The words that a model sees: one line for lists, the rest below, no more than
// it needs; and annotations that the gate can act on.
func TestSpecs(t *testing.T) {
	w := newWorld(t)
	for spec := range w.tools.All() {
		first, _, _ := strings.Cut(spec.Description, "\n")
		if len(first) == 0 || len(first) > 80 || !strings.HasSuffix(first, ".") || len(spec.Description) > 700 {
			t.Errorf("%s: %d bytes, first line %q", spec.Name, len(spec.Description), first)
		}
		if spec.Annotations.OpenWorld() {
			t.Errorf("%s: of the open world", spec.Name)
		}
		want := map[string]callgate.Effect{"write_file": callgate.Idempotent, "edit_file": callgate.Once}[spec.Name]
		if want == callgate.Once && spec.Name != "edit_file" {
			want = callgate.ReadOnly
		}
		if got := spec.Annotations.Effect(); got != want {
			t.Errorf("%s: effect %v, want %v", spec.Name, got, want)
		}
		if want != callgate.ReadOnly && !spec.Annotations.Destructive() {
			t.Errorf("%s: not destructive", spec.Name)
		}
	}
	if got := strings.Join(w.tools.Names(), " "); got != "read_file write_file edit_file glob grep" {
		t.Error(got)
	}
}
