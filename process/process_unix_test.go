//go:build unix

package process_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/process"
)

func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_TEST_ROLE") == "no main" {
		_, err := process.Run(context.Background(), process.Command{Args: []string{"true"}, Dir: os.TempDir(), Sandbox: none})
		fmt.Print(err)
		os.Exit(0)
	}
	process.Main()
	if role, ok := os.LookupEnv("PROCESS_TEST_ROLE"); ok {
		os.Exit(roles[role]())
	}
	flag.Parse()
	flag.Set("test.parallel", "8") // they sleep, mostly
	os.Exit(m.Run())
}

// roles are what this test binary does when a test starts it anew.
var roles = map[string]func() int{"hello": func() int { fmt.Print("hello"); return 0 }}

// in returns a command line that runs in a directory of its own.
// none is the sandbox of the tests that are about the life of processes, and not about
// what keeps them apart.
var none = process.Sandbox{Level: process.None}

func in(t testing.TB, line string) process.Command {
	t.Helper()
	return process.Command{Args: process.Shell(line), Env: process.Environment{Workspace: t.TempDir()}, Timeout: 20 * time.Second, Sandbox: none}
}

func run(t testing.TB, cmd process.Command) process.Result {
	t.Helper()
	r, err := process.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		line, output string
		code         int
		signal       string
	}{
		{"echo hello", "hello\n", 0, ""},
		{"echo out; echo err >&2; echo out", "out\nerr\nout\n", 0, ""}, // one stream, in order
		{"echo first; echo second > /dev/stdout", "first\nsecond\n", 0, ""},
		{"exit 3", "", 3, ""},
		{"ulimit -Hc", "0\n", 0, ""}, // no core files in the workspace
		{"no-such-program-here", "bash: line 1: no-such-program-here: command not found\n", 127, ""},
		{"kill -9 $$", "", 137, "SIGKILL"},
		{"kill -TERM $$", "", 143, "SIGTERM"},
		{"-x; echo after", "bash: line 1: -x: command not found\nafter\n", 0, ""}, // not an option of the shell
		{"cat; echo after", "after\n", 0, ""},                                     // H110: the input is empty
		{"printf 'a\\0b\\377'", "a\x00b\xff", 0, ""},                              // H116: bytes as they are; who shows them cleans them
		{"(:>&3) 2>/dev/null; echo $?", "1\n", 0, ""},
	} {
		r := run(t, in(t, test.line))
		if got := strings.ReplaceAll(r.Output.String(), "/bin/bash", "bash"); got != test.output || r.ExitCode != test.code || r.Signal != test.signal || r.Reason != process.Exited {
			t.Errorf("%s\ngot  %q %d %q %s\nwant %q %d %q", test.line, got, r.ExitCode, r.Signal, r.Reason, test.output, test.code, test.signal)
		}
	}
}

func TestRunNotStarted(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		edit func(*process.Command)
		is   error
		says string
	}{
		{"no program", nil, func(c *process.Command) { c.Args = nil }, nil, "no program given"},
		{"missing", nil, func(c *process.Command) { c.Args = []string{"no-such-program"} }, fs.ErrNotExist, `start "no-such-program": no such file`},
		{"missing path", nil, func(c *process.Command) { c.Args = []string{"./missing.sh"} }, fs.ErrNotExist, `start "./missing.sh"`},
		{"not executable", nil, func(c *process.Command) { c.Args = []string{"/etc/passwd"} }, fs.ErrPermission, "permission denied"},
		{"relative directory", nil, func(c *process.Command) { c.Dir = "here" }, nil, "not an absolute path"},
		{"missing directory", nil, func(c *process.Command) { c.Dir = "/no/such" }, fs.ErrNotExist, "working directory"},
		{"file as directory", nil, func(c *process.Command) { c.Dir = "/etc/passwd" }, nil, "not a directory"},
		{"NUL", nil, func(c *process.Command) { c.Args = append(c.Args, "a\x00b") }, nil, "NUL"},
		{"negative timeout", nil, func(c *process.Command) { c.Timeout = -1 }, nil, "negative"}, // H113
		{"too long", nil, func(c *process.Command) { c.Args = process.Shell("echo " + strings.Repeat("a", 1<<18)) }, nil, "put it into a file"},
		{"canceled", canceled, func(c *process.Command) {}, context.Canceled, "not started"},
	} {
		cmd := in(t, "true")
		cmd.Env.Caller = []string{"A_SECRET=x"}
		test.edit(&cmd)
		ctx := test.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		_, err := process.Run(ctx, cmd)
		if err == nil || !strings.Contains(err.Error(), test.says) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %q", test.name, err, test.says)
		}
		if test.name == "missing" && !strings.Contains(err.Error(), "1 variable of the caller's environment withheld; env.pass") { // H170
			t.Errorf("the error does not say that the environment is reduced: %v", err)
		}
	}
}

func TestProgramsAreFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bin/tool", "tool.sh"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho $0 $1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ program, output string }{
		{"./tool.sh", "./tool.sh x y\n"},
		{"bin/tool", "bin/tool x y\n"},
		{"tool", filepath.Join(dir, "bin/tool") + " x y\n"},
		{filepath.Join(dir, "tool.sh"), filepath.Join(dir, "tool.sh") + " x y\n"},
	} {
		cmd := process.Command{Args: []string{test.program, "x y"}, Sandbox: none, Env: process.Environment{
			Workspace: dir, Set: map[string]string{"PATH": filepath.Join(dir, "bin") + ":/bin:/usr/bin"},
		}}
		if r := run(t, cmd); r.Output.String() != test.output {
			t.Errorf("%s: %q, want %q", test.program, r.Output.String(), test.output)
		}
	}
}

func TestInputAndSplit(t *testing.T) {
	cmd := in(t, "cat; echo trouble >&2; exit 4")
	cmd.Split = true
	cmd.Stdin = strings.NewReader(`{"city": "Bern"}`)
	r := run(t, cmd)
	if r.Output.String() != `{"city": "Bern"}` || r.Stderr.String() != "trouble\n" || r.ExitCode != 4 {
		t.Errorf("%q, %q, %d", r.Output.String(), r.Stderr.String(), r.ExitCode)
	}
	// A process that does not read its input is none of our trouble.
	cmd = in(t, "exit 5")
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
	if r := run(t, cmd); r.ExitCode != 5 {
		t.Errorf("exit code %d", r.ExitCode)
	}
}
