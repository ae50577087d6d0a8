package cli_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/callgate/callgate/internal/cli"
	"github.com/callgate/callgate/process"
)

// The test binary is the command, too: a script or a test that starts it under
// the name callgate gets what a user gets.
func TestMain(m *testing.M) {
	process.Main()
	if !strings.HasSuffix(os.Args[0], ".test") {
		// one of the commands below
	} else if r := process.Probe(); r.Level == "" { // what runs programs shows nothing then
		fmt.Fprintln(os.Stderr, "no sandbox starts on this machine, so tests that run programs are skipped:", r.Tried)
		flag.Set("test.skip", "^(TestDoctorConfined|TestEnvironOfTheCaller|TestEval|TestExec|TestNothingIsLeftOfJobs|TestKilledDispatch|TestKilledRun)|^TestScripts$/^(jobs|exec|eval|env|doctor|demo|confine|commands|transfer|sandbox|sessions|replay)$")
	}
	testscript.Main(m, map[string]func(){
		"callgate": func() { os.Exit(cli.Main()) },
	})
}

// Each file in testdata/script tells a story about the command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			tmp := filepath.Join(env.WorkDir, "tmp")
			env.Setenv("TMPDIR", tmp)
			env.Setenv("GORACE", "atexit_sleep_ms=20") // not a second for each command
			env.Setenv("TMP", tmp)
			// Not in the directory of the script, which is a workspace at times.
			state, err := os.MkdirTemp("", "callgate-script-state-")
			if err != nil {
				return err
			}
			env.Defer(func() { os.RemoveAll(state) })
			env.Setenv("XDG_STATE_HOME", state)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			return os.MkdirAll(tmp, 0o777)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"empty":   emptyCommand,
			"replace": replaceCommand,
			"append":  appendCommand,
			"record":  recordCommand,
			"status":  statusCommand,
		},
	})
}

// status CODE ARG... runs callgate and checks its exit code.
func statusCommand(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec("callgate", args[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want || neg {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// replace FILE OLD NEW puts NEW where OLD stands in FILE, once.
func replaceCommand(ts *testscript.TestScript, neg bool, args []string) {
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	if n := bytes.Count(data, []byte(args[1])); n != 1 || neg {
		ts.Fatalf("%q stands in %s %d times", args[1], args[0], n)
	}
	ts.Check(os.WriteFile(file, bytes.Replace(data, []byte(args[1]), []byte(args[2]), 1), 0o600))
}

// append FILE TEXT puts TEXT at the end of FILE, without a line end.
func appendCommand(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteString(args[1])
	ts.Check(err)
	ts.Check(f.Close())
}

// empty DIR checks that nothing is in DIR, not even a hidden file.
func emptyCommand(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s has %d entries: %v", args[0], len(entries), entries)
	}
}
