package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/callgate/callgate/internal/cli"
)

// The test binary is the command, too: a script or a test that starts it under
// the name callgate gets what a user gets.
func TestMain(m *testing.M) {
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
			env.Setenv("TMP", tmp)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("BOM", "\ufeff")
			return os.MkdirAll(tmp, 0o777)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bytes": bytesCommand,
			"empty": emptyCommand,
		},
	})
}

// bytes FILE TEXT writes FILE; bytes -is FILE TEXT compares it. TEXT has the
// escapes \r, \n, \t and \uFEFF, and nothing is added.
func bytesCommand(ts *testscript.TestScript, neg bool, args []string) {
	compare := args[0] == "-is"
	if compare {
		args = args[1:]
	}
	if len(args) != 2 {
		ts.Fatalf("usage: bytes [-is] file text")
	}
	text := strings.NewReplacer(`\r`, "\r", `\n`, "\n", `\t`, "\t", `\uFEFF`, "\ufeff", `\xFF`, "\xff").Replace(args[1])
	if !compare {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
		return
	}
	got, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if (string(got) == text) == neg {
		ts.Fatalf("%s holds %q; compared with %q", args[0], got, text)
	}
}

// empty DIR checks that nothing is in DIR, not even a hidden file.
func emptyCommand(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s has %d entries: %v", args[0], len(entries), entries)
	}
}
