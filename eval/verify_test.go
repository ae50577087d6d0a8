package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// Each verifier, in a workspace that is right ("") and in ones that are wrong (a
// part of the reason). right.txt holds two lines; links lead inside, nowhere, to a
// file outside that would satisfy the verifier, and to a directory outside.
func TestVerifiers(t *testing.T) {
	outside := directory(t, map[string]string{"right.txt": "one\ntwo\n"})
	dir := directory(t, map[string]string{"right.txt": "one\ntwo\n", "cut.txt": "one\ntwo", "long.txt": "one\ntwo\nthree\n", "dir/a": "a", "empty": ""})
	for name, to := range map[string]string{
		"in": "right.txt", "nowhere": "gone", "out": filepath.Join(outside, "right.txt"), "outdir": outside,
		"up": "../" + filepath.Base(outside) + "/right.txt",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	s := scene{ws: ws, answer: "There are 2 files.\nDone.", env: process.Environment{Workspace: dir, Caches: t.TempDir()}}
	const outsideWorkspace = "outside the workspace"
	for _, test := range []struct{ verifier, want string }{
		{`file_equals: {path: right.txt, text: "one\ntwo\n"}`, ""},
		{`file_equals: {path: in, text: "one\ntwo\n"}`, ""},
		{`file_equals: {path: empty, text: ""}`, ""},
		{`file_equals: {path: empty, text: x}`, `line 1: got the end of the file, want "x"`},
		{`file_equals: {path: right.txt, text: "one\nTwo\n"}`, `right.txt differs in line 2: got "two\n", want "Two\n"`},
		{`file_equals: {path: cut.txt, text: "one\ntwo\n"}`, `line 2: got "two", want "two\n"`},
		{`file_equals: {path: long.txt, text: "one\ntwo\n"}`, `line 3: got "three\n", want the end of the file`},
		{`file_equals: {path: right.txt, text: ""}`, `line 1: got "one\n", want the end of the file`},
		{`file_equals: {path: gone, text: ""}`, "no such file"},
		{`file_equals: {path: dir, text: ""}`, "directory"},
		{`file_equals: {path: out, text: "one\ntwo\n"}`, outsideWorkspace},
		{`file_equals: {path: up, text: "one\ntwo\n"}`, outsideWorkspace},
		{`file_equals: {path: outdir/right.txt, text: "one\ntwo\n"}`, outsideWorkspace},

		{`file_absent: {path: gone}`, ""},
		{`file_absent: {path: gone/below}`, ""},
		{`file_absent: {path: right.txt/below}`, ""},
		{`file_absent: {path: dir/b}`, ""},
		{`file_absent: {path: right.txt}`, "right.txt is there"},
		{`file_absent: {path: dir}`, "dir is there"},
		{`file_absent: {path: dir/a}`, "dir/a is there"},
		{`file_absent: {path: nowhere}`, "nowhere is there"},
		{`file_absent: {path: out}`, "out is there"},
		{`file_absent: {path: outdir/gone}`, outsideWorkspace},

		{`regex_match: {pattern: "[0-9] files"}`, ""},
		{`regex_match: {pattern: "(?m)^Done"}`, ""},
		{`regex_match: {pattern: "^Done"}`, `the final answer does not match ^Done: "There are`},
		{`regex_match: {path: right.txt, pattern: "one\ntwo"}`, ""},
		{`regex_match: {path: right.txt, pattern: three}`, `right.txt does not match three; it begins with "one`},
		{`regex_match: {path: right.txt, pattern: files}`, "right.txt does not match"}, // the answer does
		{`regex_match: {path: gone, pattern: ""}`, "f.yaml"},                           // refused by the schema
		{`regex_match: {path: gone, pattern: .}`, "no such file"},
		{`regex_match: {path: out, pattern: one}`, outsideWorkspace},

		{`exit_zero: {command: [sh, -c, "grep -q two right.txt"]}`, ""},
		{`exit_zero: {command: [sh, -c, "echo looked; exit 3"]}`, "exit code 3: looked"},
		{`exit_zero: {command: [sh, -c, "exit 1"]}`, "exit code 1, no output"},
		{`exit_zero: {command: [sh, -c, "echo slow; sleep 60"], timeout: 300ms}`, "took more than 300ms"},
		{`exit_zero: {command: [sh, -c, "kill -9 $$"]}`, "exit code 137"},
		{`exit_zero: {command: [./no-such-program]}`, "no-such-program"},
		{`exit_zero: {command: [no-such-program]}`, "no-such-program"},
		{`exit_zero: {command: [sh, -c, "test $HOME = $PWD"]}`, ""},
	} {
		task, err := parse("f.yaml", []byte("prompt: x\nverify:\n- "+test.verifier+"\n"), nil)
		if err != nil {
			if test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", test.verifier, err)
			}
			continue
		}
		failure, err := task.verify(t.Context(), s)
		switch {
		case err != nil:
			t.Errorf("%s: %v", test.verifier, err)
		case failure == nil && test.want != "":
			t.Errorf("%s: accepted, want %s", test.verifier, test.want)
		case failure != nil && (test.want == "" || !strings.Contains(failure.Message, test.want)):
			t.Errorf("%s:\ngot  %v\nwant %s", test.verifier, failure, test.want)
		case failure != nil && (failure.Where != "f.yaml:3" || !strings.HasPrefix(test.verifier, failure.Kind+":")):
			t.Errorf("%s: the failure is of %s at %s", test.verifier, failure.Kind, failure.Where)
		}
	}
	if kind, err := (Verifier{}).check(t.Context(), s); err == nil {
		t.Errorf("a verifier that checks nothing accepts, as %s", kind)
	}
}

// All must accept, and the first that does not is told.
func TestEveryVerifierCounts(t *testing.T) {
	dir := directory(t, map[string]string{"a": "a"})
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	task, err := parse("f.yaml", []byte("prompt: x\nverify:\n- file_equals: {path: a, text: a}\n- file_absent: {path: a}\n- file_equals: {path: b, text: b}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := task.verify(t.Context(), scene{ws: ws}); err != nil || f == nil || f.Where != "f.yaml:4" {
		t.Errorf("got %v, %v; want the failure of line 4", f, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := task.verify(ctx, scene{ws: ws}); f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("when it is canceled: %v, %v", f, err)
	}
}

// No program runs in a directory that was put in the place of the workspace.
func TestWorkspaceReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspace")
	other := directory(t, map[string]string{"a": ""})
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	v := ExitZero{Command: []string{"sh", "-c", "touch ran"}}
	s := scene{ws: ws, env: process.Environment{Workspace: dir, Caches: t.TempDir()}}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Skip(err)
	}
	for _, replace := range []func() error{
		func() error { return nil },
		func() error { return os.Symlink(other, dir) },
		func() error { return errors.Join(os.Remove(dir), os.Mkdir(dir, 0o777)) },
	} {
		if err := replace(); err != nil {
			t.Skip(err)
		}
		if err := v.check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "moved or replaced") {
			t.Errorf("got %v", err)
		}
	}
	for _, d := range []string{other, dir} {
		if _, err := os.Stat(filepath.Join(d, "ran")); err == nil {
			t.Errorf("a program ran in %s", d)
		}
	}
}

func TestExpect(t *testing.T) {
	tr := Trial{Calls: 4, Refusals: map[callgate.Code]int{"permission_denied": 2}, Failures: map[callgate.Code]int{"timeout": 1}}
	for _, test := range []struct{ expect, want string }{
		{"{}", ""},
		{"{calls: {min: 4, max: 4}}", ""},
		{"{calls: {max: 3}}", "4 calls; at most 3 are expected"},
		{"{calls: {min: 5}}", "4 calls; at least 5"},
		{"{refusals: {max: 2}}", ""},
		{"{refusals: {max: 0}}", "2 refused calls (permission_denied 2); at most 0"},
		{"{refusals: {min: 3}}", "2 refused calls"},
		{"{failures: {min: 1, max: 1}}", ""},
		{"{failures: {max: 0}}", "1 failed calls (timeout 1)"},
		{"{codes: [timeout, permission_denied]}", ""},
		{"{codes: [timeout, conflict]}", "no call ended with conflict"},
	} {
		task, err := parse("f.yaml", []byte(minimal+"expect: "+test.expect+"\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		f := task.expected(&tr)
		if (f == nil) != (test.want == "") || f != nil && (!strings.Contains(f.Message, test.want) || f.Where != "f.yaml:4") {
			t.Errorf("%s: got %v, want %q", test.expect, f, test.want)
		}
	}
}
