package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/workspace"
)

// gateWith returns a gate for a fresh workspace that has more tools.
func gateWith(t testing.TB, allow []string, more ...callgate.Tool) *gate {
	t.Helper()
	ws, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{workspace: ws, session: "test"}
	t.Cleanup(func() { g.close() })
	if g.artifacts, err = artifact.Open(t.TempDir(), artifact.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := g.wire(allow, nil, more...); err != nil {
		t.Fatal(err)
	}
	return g
}

func toolOf(name string, a callgate.Annotations, run func(context.Context) (string, error)) callgate.Tool {
	return callgate.Must(callgate.Func(callgate.Spec{Name: name, Description: "A tool of a test.", Annotations: a},
		func(ctx context.Context, _ struct{}) (string, error) { return run(ctx) }))
}

// An output over the limit is kept, and the reference in its note can be read.
func TestSpill(t *testing.T) {
	long := strings.Repeat("a line of an output that is too long\n", 3000)
	g := gateWith(t, []string{"long"}, toolOf("long", callgate.Annotations{OpenWorldHint: new(false)},
		func(context.Context) (string, error) { return long, nil }))
	r := g.dispatcher.Dispatch(t.Context(), g.catalog, callgate.Calls(callgate.Call{ID: "1", Name: "long"}))[0]
	if r.Code != "" || !r.Truncated || !strings.HasPrefix(r.Artifact, "artifact:") {
		t.Fatalf("the output was not kept: %v %v %q", r.Code, r.Truncated, r.Artifact)
	}
	args, _ := json.Marshal(map[string]any{"path": r.Artifact, "offset": 2999})
	r = g.dispatcher.Dispatch(t.Context(), g.catalog, callgate.Calls(callgate.Call{ID: "2", Name: "read_file", Arguments: args}))[0]
	if want := "  3000\ta line of an output"; !strings.Contains(r.ModelText(), want) {
		t.Errorf("the kept output reads %q, want %q in it", r.ModelText(), want)
	}
}

// A link and the file it leads to are one file: a read through the link sees what
// an earlier call of the turn wrote.
func TestLinksKeepOrder(t *testing.T) {
	g := gateWith(t, []string{"write_file"})
	dir := g.workspace.Dir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	results := g.dispatcher.Dispatch(t.Context(), g.catalog, callgate.Calls(
		callgate.Call{ID: "1", Name: "write_file", Arguments: []byte(`{"path":"file","content":"new\n"}`)},
		callgate.Call{ID: "2", Name: "read_file", Arguments: []byte(`{"path":"link"}`)},
	))
	if got := results[1].ModelText(); !strings.Contains(got, "new") {
		t.Errorf("after %q the link reads %q", results[0].ModelText(), got)
	}
}

// What is down for a moment is tried again.
func TestRetries(t *testing.T) {
	attempts := 0
	g := gateWith(t, nil, toolOf("flaky", callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
		func(context.Context) (string, error) {
			if attempts++; attempts == 1 {
				return "", callgate.Errorf(callgate.Unavailable, "not now")
			}
			return "fine", nil
		}))
	r := g.dispatcher.Dispatch(t.Context(), g.catalog, callgate.Calls(callgate.Call{ID: "1", Name: "flaky"}))[0]
	if r.Code != "" || r.Attempts != 2 {
		t.Errorf("%s after %d attempts", r.ModelText(), r.Attempts)
	}
}

// Calls in flight are answered when the command is interrupted, and their
// results are printed.
func TestInterruptedCalls(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	slow := toolOf("slow", callgate.Annotations{}, func(ctx context.Context) (string, error) {
		stop()
		<-ctx.Done()
		return "", ctx.Err()
	})
	g := gateWith(t, []string{"*"}, slow)
	in := strings.NewReader(`{"calls":[{"id":"a","name":"slow"},{"id":"b","name":"slow"}]}`)
	var out bytes.Buffer
	err := (&dispatch{gate: g, format: "auto"}).once(ctx, in, &out)
	if !errors.Is(err, context.Canceled) || exitOf(ctx, err) != 130 {
		t.Errorf("the command ends with %v, exit code %d", err, exitOf(ctx, err))
	}
	var reply struct {
		Results []struct{ CallID, Code string }
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil || len(reply.Results) != 2 {
		t.Fatalf("printed: %q (%v)", out.String(), err)
	}
	for i, id := range []string{"a", "b"} {
		if r := reply.Results[i]; r.CallID != id || r.Code != "canceled" {
			t.Errorf("result %d: %+v, want canceled", i, r)
		}
	}
}

func TestRules(t *testing.T) {
	closed := new(false)
	read := callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: closed}
	for _, test := range []struct {
		allow  string
		name   string
		a      callgate.Annotations
		source string
		want   callgate.Verdict
	}{
		{"", "read_file", read, "", callgate.Allow},
		{"", "edit_file", callgate.Annotations{OpenWorldHint: closed}, "", callgate.Deny},
		{"", "web_search", callgate.Annotations{ReadOnlyHint: true}, "", callgate.Deny}, // a read, but not in the workspace
		{"", "mcp__x__read", read, "mcp__x", callgate.Deny},                             // so the server says
		{"edit_file", "edit_file", callgate.Annotations{}, "", callgate.Allow},
		{"edit_file", "edit_files", callgate.Annotations{}, "", callgate.Deny},
		{"edit_file", "write_file", callgate.Annotations{}, "", callgate.Deny},
		{"edit_*", "edit_file", callgate.Annotations{}, "", callgate.Allow},
		{"*", "edit_file", callgate.Annotations{}, "", callgate.Allow},
		{"mcp__x__*", "mcp__x__a", callgate.Annotations{}, "mcp__x", callgate.Allow},
		{"mcp__x__*", "mcp__x__a/b", callgate.Annotations{}, "mcp__x", callgate.Allow},
		{"mcp__x__*", "mcp__y__a", callgate.Annotations{}, "mcp__y", callgate.Deny},
		{"mcp__x__*", "xmcp__x__a", callgate.Annotations{}, "mcp__x", callgate.Deny},
		{"EDIT_FILE", "edit_file", callgate.Annotations{}, "", callgate.Deny},
		{`mcp__x__\*`, "mcp__x__*", callgate.Annotations{}, "mcp__x", callgate.Allow},
		{`mcp__x__\*`, "mcp__x__a", callgate.Annotations{}, "mcp__x", callgate.Deny},
	} {
		var allow []string
		if test.allow != "" {
			allow = []string{test.allow}
		}
		r, err := newRules(allow)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.decide(t.Context(), callgate.Request{Spec: callgate.Spec{Name: test.name, Annotations: test.a}, Source: test.source})
		if err != nil || got.Verdict != test.want {
			t.Errorf("--allow %q, %s of %q: %v, want %v", test.allow, test.name, test.source, got.Verdict, test.want)
		}
		if got.Verdict == callgate.Deny && !strings.Contains(got.Reason, "--allow "+quoteWord(test.name)) {
			t.Errorf("the denial of %s says %q and not which --allow helps", test.name, got.Reason)
		}
	}
}

// What a denial tells the user to type allows that tool and no other.
func TestQuoteWord(t *testing.T) {
	for name, want := range map[string]string{
		"edit_file":    "edit_file",
		"mcp__x__a-b":  "mcp__x__a-b",
		"mcp__x__a*":   `'mcp__x__a\*'`,
		"mcp__x__a b":  `'mcp__x__a b'`,
		"mcp__x__[a]?": `'mcp__x__\[a]\?'`,
		`mcp__x__\`:    `'mcp__x__\\'`,
		"mcp__x__it's": `'mcp__x__it'\''s'`,
	} {
		got := quoteWord(name)
		if got != want {
			t.Errorf("quoteWord(%q) = %s, want %s", name, got, want)
		}
		pattern := strings.ReplaceAll(strings.Trim(got, "'"), `'\''`, "'") // as a shell reads it
		if !matches(pattern, name) || matches(pattern, name+"x") || matches(pattern, "mcp__x__a") {
			t.Errorf("the pattern %s for %q does not match it alone", pattern, name)
		}
	}
}

func TestStateDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, test := range []struct{ xdg, want string }{
		{"", filepath.Join(home, ".local", "state", "callgate")},
		{"relative", filepath.Join(home, ".local", "state", "callgate")}, // the specification: ignore it
		{filepath.Join(home, "xdg"), filepath.Join(home, "xdg", "callgate")},
	} {
		t.Setenv("XDG_STATE_HOME", test.xdg)
		if got, err := stateDir(); err != nil || got != test.want {
			t.Errorf("XDG_STATE_HOME=%q: %q (%v), want %q", test.xdg, got, err, test.want)
		}
	}
}

// Without a place for state nothing runs, unless the person wants no record; and then
// the command says what else it lacks.
func TestNoPlaceForState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	var out, errs bytes.Buffer
	code := Run(t.Context(), []string{"dispatch", "--workspace", t.TempDir()}, strings.NewReader(`{"calls":[]}`), &out, &errs)
	if code != 1 || out.Len() > 0 || !strings.Contains(errs.String(), "none will run") || !strings.Contains(errs.String(), "--journal none") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
	errs.Reset()
	code = Run(t.Context(), []string{"dispatch", "--journal", "none", "--workspace", t.TempDir()}, strings.NewReader(`{"calls":[]}`), &out, &errs)
	if code != 0 || out.String() != "{\"results\":[]}\n" || !strings.Contains(errs.String(), "will not be kept") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
}

func TestExitFor(t *testing.T) {
	want := map[callgate.Code]int{"": 0, callgate.PermissionDenied: 3, callgate.ApprovalRejected: 3, callgate.BudgetExceeded: 4}
	for _, info := range callgate.Codes() {
		code, special := want[info.Code]
		if !special {
			code = 1
		}
		if got := exitFor(info.Code); got != code {
			t.Errorf("a call that ends with %q: exit code %d, want %d", info.Code, got, code)
		}
	}
}
