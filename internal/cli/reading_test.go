package cli_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A command that only reads changes no byte, time or mode of what it reads, and leaves
// what a dead process left to those that write.
func TestReadingCommandsChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, err := journal.Open(path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin("build", journal.About{Workspace: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	var r callgate.Registry
	if err := r.Register(callgate.Tool{
		Spec: callgate.Spec{Name: "make", InputSchema: json.RawMessage(`{"type":"object"}`)},
		Handler: func(context.Context, callgate.Call) (callgate.Result, error) {
			return callgate.Text("done"), nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	gate := callgate.Dispatcher{Policy: callgate.AllowAll, Executor: j.Executor(nil)}
	gate.Dispatch(t.Context(), r.Catalog(), callgate.Turn{Session: "build", Number: 1, Calls: []callgate.Call{{ID: "a", Name: "make", Arguments: json.RawMessage(`{}`)}}})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	dead := path + "-owner-dead"
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	look := func() (s string) {
		for _, name := range []string{path, dead} {
			b, err := os.ReadFile(name)
			st, statErr := os.Stat(name)
			if err != nil || statErr != nil {
				return fmt.Sprint(s, err, statErr)
			}
			s += fmt.Sprintf("%s %v %d %x\n", filepath.Base(name), st.Mode(), st.ModTime().UnixNano(), sha256.Sum256(b))
		}
		return s
	}
	before := look()
	for _, args := range [][]string{
		{"sessions", "list"}, {"sessions", "show", "build"}, {"sessions", "export", "build"}, {"show", "build/1/0"},
		{"audit", "verify"}, {"audit", "head"}, {"audit", "export"}, {"replay", "build"}, {"__complete", "sessions", "show"},
	} {
		args = append(args, "--journal", path)
		if args[0] == "__complete" {
			args = append(args, "") // the word to complete
		}
		code, stdout, stderr := run(t, "", args...)
		if code != 0 && args[0] != "replay" || // whose tool is not there today
			!strings.Contains(stdout, map[string]string{"audit": "", "replay": "1/0"}[args[0]]) || stdout == "" {
			t.Errorf("%v: exit %d, %q, %q", args, code, stdout, stderr)
		}
		if after := look(); after != before {
			t.Errorf("%v: there was\n%sand is\n%s", args, before, after)
		}
	}
	// And those that write do recover.
	if code, _, stderr := run(t, "", "sessions", "gc", "--keep", "9", "--journal", path); code != 0 {
		t.Errorf("gc: exit %d, %s", code, stderr)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the file of the dead owner: %v", err)
	}
}
