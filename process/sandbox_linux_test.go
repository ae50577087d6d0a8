package process_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/process"
)

// sandboxed are the levels above none that start here.
func sandboxed(t *testing.T) []process.Level {
	l := levels()[1:]
	if len(l) == 0 {
		t.Skip("no level starts here: ", process.Probe().Tried)
	}
	return l
}

// The level that Auto takes is the one that Probe reports, and nothing lower.
func TestAuto(t *testing.T) {
	sandboxed(t)
	cmd := in(t, "true")
	cmd.Sandbox = process.Sandbox{}
	r := run(t, cmd)
	if want := process.Probe().Level; r.Level != want || want == process.None || want == "" {
		t.Errorf("%q, want %q", r.Level, want)
	}
}

// A protected place that does not exist cannot be protected, and is told of.
func TestMade(t *testing.T) {
	for _, level := range sandboxed(t) {
		cmd := in(t, "echo ref: x > HEAD; mkdir .vscode; echo x > .vscode/tasks.json; echo x > own; echo x > other")
		cmd.Sandbox = process.Sandbox{Level: level, Protect: []string{"own", "there"}}
		if err := os.WriteFile(filepath.Join(cmd.Env.Workspace, "there"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if r := run(t, cmd); !slices.Equal(r.Made, []string{"HEAD", ".vscode", "own"}) {
			t.Errorf("%s: %q", level, r.Made)
		}
	}
}

// Limits end what goes beyond them, with a reason.
func TestLimits(t *testing.T) {
	for _, level := range sandboxed(t) {
		t.Run(level.String(), func(t *testing.T) {
			cmd := in(t, "head -c 3000000 /dev/zero > f; echo $?; wc -c < f")
			cmd.Sandbox = process.Sandbox{Level: level, Limits: process.Limits{FileSize: 1 << 20}}
			if r := run(t, cmd); !strings.HasSuffix(strings.TrimSpace(r.Output.String()), "1048576") || !strings.Contains(r.Output.String(), "153") {
				t.Errorf("file size: %s", r.Output)
			}
			cmd = in(t, "head -c 100000000 /dev/zero | tail -c 90000000 | wc -c; exit 9")
			cmd.Sandbox = process.Sandbox{Level: level, Limits: process.Limits{Memory: 40 << 20}}
			r := run(t, cmd)
			if strings.TrimSpace(r.Output.String()) == "90000000" {
				t.Errorf("memory: %+v %s", r, r.Output)
			}
			if os.Getuid() == 0 && r.Reason != process.MemoryLimit && !slices.ContainsFunc(process.Probe().Notes, func(n string) bool { return strings.Contains(n, "limit of memory") }) {
				t.Errorf("memory: ended with %q: %s", r.Reason, r.Output)
			}
		})
	}
}

// Where no sandbox can be set up nothing runs, and the error says at what it failed.
func TestSandboxFails(t *testing.T) {
	sandboxed(t)
	cmd := in(t, "touch ran")
	cmd.Sandbox = process.Sandbox{Level: process.Seatbelt}
	if _, err := process.Run(t.Context(), cmd); err == nil || !strings.Contains(err.Error(), "seatbelt") {
		t.Errorf("%v", err)
	}
	if !slices.Contains(levels(), process.Isolated) {
		return
	}
	cmd.Sandbox = process.Sandbox{Level: process.Isolated, Net: process.AllowedNet, Hosts: []string{"http://example.com"}}
	if _, err := process.Run(t.Context(), cmd); err == nil || !strings.Contains(err.Error(), "example.com") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(cmd.Env.Workspace, "ran")); err == nil {
		t.Error("it ran")
	}
}

// The private directories of an isolated process are in memory: nothing is left of
// them, and nobody sees what others have there.
func TestPrivate(t *testing.T) {
	if !slices.Contains(sandboxed(t), process.Isolated) {
		t.Skip("isolated does not start here")
	}
	cmd := in(t, "echo x > /tmp/mine && ls /tmp | wc -l && echo $TMPDIR && test -w $TMPDIR && echo writable")
	cmd.Sandbox = process.Sandbox{Level: process.Isolated}
	r := run(t, cmd)
	if !strings.Contains(r.Output.String(), "writable") {
		t.Errorf("%s", r.Output)
	}
	for f := range strings.FieldsSeq(r.Output.String()) {
		if strings.HasPrefix(f, "/tmp/callgate-") {
			if _, err := os.Lstat(f); err == nil {
				t.Errorf("%s is left", f)
			}
		}
	}
	if _, err := os.Lstat("/tmp/mine"); err == nil {
		t.Error("it wrote into the real /tmp")
	}
}

// What a process leaves in the caches, settings among it, is seen by the next one in the
// sandbox, and by none without.
func TestCachesOfNoSandbox(t *testing.T) {
	caches := t.TempDir()
	for _, level := range sandboxed(t) {
		cmd := in(t, "mkdir -p $XDG_CONFIG_HOME/git $GOCACHE && echo planted > $XDG_CONFIG_HOME/git/config")
		cmd.Env.Caches, cmd.Sandbox = caches, process.Sandbox{Level: level}
		run(t, cmd)
		cmd.Args = process.Shell("cat $XDG_CONFIG_HOME/git/config")
		if r := run(t, cmd); r.Output.String() != "planted\n" {
			t.Errorf("%s: %s", level, r.Output)
		}
		cmd.Sandbox = none
		if r := run(t, cmd); r.ExitCode == 0 {
			t.Errorf("%s: without a sandbox: %s", level, r.Output)
		}
	}
}

// Many sandboxes at once do not get into each other's way.
func TestManyAtOnce(t *testing.T) {
	sandboxed(t)
	ws := t.TempDir()
	errs := make(chan string, 24)
	for range cap(errs) {
		go func() {
			r, err := process.Run(t.Context(), process.Command{Args: process.Shell("echo $$ > /dev/null; echo ok"), Env: process.Environment{Workspace: ws}, Timeout: time.Minute})
			if err != nil {
				errs <- err.Error()
			} else {
				errs <- r.Output.String()
			}
		}()
	}
	for range cap(errs) {
		if s := <-errs; s != "ok\n" {
			t.Errorf("%q", s)
		}
	}
}

// A program is found where the caller says that it is, and nothing beside it.
func TestProgramIsShown(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool.sh")
	for name, text := range map[string]string{tool: "#!/bin/sh\ncat \"$1\" && exit 5\necho shown", filepath.Join(dir, "secret"): "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, level := range sandboxed(t) {
		cmd := in(t, "")
		cmd.Args = []string{tool, filepath.Join(dir, "secret")}
		cmd.Sandbox = process.Sandbox{Level: level}
		if r := run(t, cmd); !strings.HasSuffix(r.Output.String(), "shown\n") || r.ExitCode != 0 {
			t.Errorf("%s: %+v %s", level, r, r.Output)
		}
		cmd.Sandbox.Hide = []string{tool}
		if r, err := process.Run(t.Context(), cmd); err == nil && r.ExitCode == 0 {
			t.Errorf("%s: it ran although it is hidden", level)
		}
	}
}

// What programs outside obey cannot be changed, removed or put aside at isolated, and all
// that lies beside it can.
func TestProtected(t *testing.T) {
	if !slices.Contains(sandboxed(t), process.Isolated) {
		t.Skip("isolated does not start here")
	}
	cmd := in(t, `echo x > .git/config; echo x > .git/hooks/pre-commit; rm -rf .git/hooks; mv .git aside; rm own/deep; mv own aside
		echo new > .git/index && echo y > own/beside && echo done`)
	cmd.Sandbox = process.Sandbox{Level: process.Isolated, Protect: []string{"own/deep"}}
	ws := cmd.Env.Workspace
	for _, d := range []string{".git/hooks", "own"} {
		if err := os.MkdirAll(filepath.Join(ws, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	kept := []string{".git/config", ".git/hooks/sample", "own/deep"}
	for _, f := range kept {
		if err := os.WriteFile(filepath.Join(ws, f), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := run(t, cmd); !strings.HasSuffix(r.Output.String(), "done\n") {
		t.Errorf("%+v %s", r, r.Output)
	}
	for _, f := range kept {
		if b, err := os.ReadFile(filepath.Join(ws, f)); string(b) != "kept" {
			t.Errorf("%s: %q, %v", f, b, err)
		}
	}
	for _, f := range []string{".git/hooks/pre-commit", "aside"} {
		if _, err := os.Lstat(filepath.Join(ws, f)); err == nil {
			t.Errorf("%s was made", f)
		}
	}
}
