package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/process"
)

// What is hidden or protected in a directory of the workspace stays so for the next
// process, whatever this one does to the directories above it.
func TestDirectoriesAboveAreFast(t *testing.T) {
	cmd := in(t, "")
	ws := cmd.Env.Workspace
	for name, text := range map[string]string{"a/b/secret": "SECRET", "c/d/tasks.json": "good"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(ws, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("c/d", filepath.Join(ws, ".vscode")); err != nil {
		t.Fatal(err)
	}
	both := func(s process.Sandbox) (out string) {
		t.Helper()
		for _, line := range []string{
			"mv a x; mv a/b y; mv c z; mkdir -p c/d && echo evil > c/d/tasks.json; touch a/b/new a/new && rm a/b/new a/new && echo works",
			"cat a/b/secret */b/secret y/secret",
		} {
			cmd.Args, cmd.Sandbox = process.Shell(line), s
			r := run(t, cmd)
			out += r.Output.String()
		}
		return out
	}
	for _, level := range sandboxed(t) {
		if level != process.Isolated {
			continue // confined refuses to hide and does not protect
		}
		out := both(process.Sandbox{Level: level, Hide: []string{"a/b/secret"}})
		if b, err := os.ReadFile(filepath.Join(ws, ".vscode", "tasks.json")); strings.Contains(out, "SECRET") || !strings.Contains(out, "works") || string(b) != "good" || err != nil {
			t.Errorf("tasks: %q, %v\n%s", b, err, out)
		}
	}
	if out := both(none); !strings.Contains(out, "SECRET") {
		t.Errorf("the act does not work without a sandbox: %s", out)
	}
}
