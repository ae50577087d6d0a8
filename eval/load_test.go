package eval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/schema"
)

const minimal = `prompt: do it
verify:
- file_absent: {path: a.txt}
`

// What a file does not say is the default that its schema names.
func TestLoad(t *testing.T) {
	s := suite(t, map[string]string{
		"b.yaml":      minimal,
		"a.yml":       "name: second\nprompt: do it\ntimeout: 90s\nworkspace: {dir: start, files: {x/y: \"2\"}}\nmodel: {script: s}\nverify:\n- exit_zero: {command: [\"true\"]}\n- file_equals: {path: a, file: start/x/z}\n",
		"s":           "turn\nsay x\n",
		"start/x/y":   "1",
		"start/x/z":   "3",
		"deep/c.yaml": "not: a task",
		"README.md":   "neither",
	})
	if len(s.Tasks) != 2 || s.Tasks[0].Name != "second" || s.Tasks[1].Name != "b" {
		t.Fatalf("got %v", s.Tasks)
	}
	a, b := s.Tasks[0], s.Tasks[1]
	if a.timeout != 90*time.Second || b.timeout != 2*time.Minute || a.Verify[0].ExitZero.timeout != time.Minute {
		t.Errorf("time limits %v, %v, %v", a.timeout, b.timeout, a.Verify[0].ExitZero.timeout)
	}
	if got := string(a.start["x/y"].data); got != "2" {
		t.Errorf("the file that the task gives is %q; it goes before that of the directory", got)
	}
	if got := string(a.start["x/z"].data) + string(a.Verify[1].FileEquals.want); got != "33" {
		t.Errorf("the files beside the task are %q", got)
	}
	if len(a.steps) != 1 || a.Where("/timeout") != filepath.Join(s.Path, "a.yml")+":3" {
		t.Errorf("%d steps; the time limit stands at %s", len(a.steps), a.Where("/timeout"))
	}
	if one, err := Load(a.Path()); err != nil || len(one.Tasks) != 1 || one.Tasks[0].Name != "second" {
		t.Errorf("one file: %v, %v", one, err)
	}
}

// Each fault of a file is told with its place and what to do.
func TestFaults(t *testing.T) {
	dir := directory(t, map[string]string{"empty.script": "# nothing\n", "wrong.script": "turn\nsya x\n", "start/a": "", "file": ""})
	for name, to := range map[string]string{"away": "/etc", "start/link": "a"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "odd"), 0o777); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, test := range []struct {
		file  string
		wants []string
	}{
		{"promt: x\nverify: [{file_absent: {path: a}}]\n", []string{"f.yaml:1:1: /promt: unknown field", "did you mean prompt?"}},
		{"prompt: x\n", []string{"f.yaml:1:", "/verify: missing"}},
		{"prompt: x\nverify: []\n", []string{"f.yaml:2:1: /verify:"}},
		{"prompt: x\nverify:\n- file_equal: {path: a, text: b}\n", []string{"f.yaml:3:3: /verify/0/file_equal: unknown field", "did you mean file_equals?"}},
		{"prompt: x\nverify:\n- file_equals: {pth: a, text: b}\n", []string{"f.yaml:3:", "/verify/0/file_equals", "did you mean path?"}},
		{"prompt: x\nverify:\n- {}\n", []string{"f.yaml:3:", "it has 0 verifiers"}},
		{"prompt: x\nverify:\n- file_absent:\n", []string{"f.yaml:3:", "it has 0 verifiers"}},
		{"prompt: x\nverify:\n- file_absent: {path: a}\n  regex_match: {pattern: b}\n", []string{"f.yaml:3:", "it has 2 verifiers"}},
		{"prompt: x\nverify:\n- file_absent: {path: ../a}\n", []string{"f.yaml:3:17:", "not a path in the workspace"}},
		{"prompt: x\nverify:\n- file_equals: {path: /a, text: b}\n", []string{"not a path in the workspace"}},
		{"prompt: x\nverify:\n- regex_match: {path: a/../.., pattern: b}\n", []string{"not a path in the workspace"}},
		{"prompt: x\nverify:\n- file_equals: {path: a}\n", []string{"f.yaml:3:3:", "give one of text and file"}},
		{"prompt: x\nverify:\n- file_equals: {path: a, text: b, file: file}\n", []string{"give one of text and file"}},
		{"prompt: x\nverify:\n- file_equals: {path: a, file: missing}\n", []string{"f.yaml:3:26:", "missing does not exist beside the task file"}},
		{"prompt: x\nverify:\n- file_equals: {path: a, file: ../f}\n", []string{"does not lie beside the task file"}},
		{"prompt: x\nverify:\n- file_equals: {path: a, file: start}\n", []string{"not a regular file"}},
		{"prompt: x\nverify:\n- file_equals: {path: a, file: away/passwd}\n", []string{"f.yaml:3:", "escapes"}},
		{"prompt: x\nverify:\n- regex_match: {pattern: (}\n", []string{"f.yaml:3:17:", "missing closing )"}},
		{"prompt: x\nverify:\n- exit_zero: {command: []}\n", []string{"f.yaml:3:"}},
		{"prompt: x\nverify:\n- exit_zero: {command: [\"\"]}\n", []string{"the program has no name"}},
		{"prompt: x\nverify:\n- exit_zero: {command: [x], timeout: 0s}\n", []string{"f.yaml:3:29:", "time limit"}},
		{minimal + "timeout: 25h\n", []string{"f.yaml:4:1:", "24h"}},
		{minimal + "timeout: 5\n", []string{"f.yaml:4:1:", "/timeout"}},
		{minimal + "trials: 2\npass: 3\n", []string{"f.yaml:5:1:", "pass is 3, and there are 2 trials"}},
		{minimal + "trials: 2\nk: 3\n", []string{"f.yaml:5:1:", "k is 3"}},
		{minimal + "trials: 0\n", []string{"f.yaml:4:1: /trials"}},
		{minimal + "name: a b\n", []string{"f.yaml:4:1: /name"}},
		{minimal + "name: ../x\n", []string{"f.yaml:4:1: /name"}},
		{minimal + "expect: {calls: {min: 2, max: 1}}\n", []string{"f.yaml:4:", "min 2 is over max 1"}},
		{minimal + "expect: {calls: {mx: 1}}\n", []string{"f.yaml:4:", "/expect/calls/mx: unknown field"}},
		{minimal + "expect: {codes: [time_out]}\n", []string{"f.yaml:4:", "did you mean timeout?"}},
		{minimal + "workspace: {dir: missing}\n", []string{"f.yaml:4:", "missing does not exist beside the task file"}},
		{minimal + "workspace: {dir: file}\n", []string{"file is not a directory"}},
		{minimal + "workspace: {dir: ../x}\n", []string{"does not lie beside"}},
		{minimal + "workspace: {dir: away}\n", []string{"escapes"}},
		{minimal + "workspace: {dir: start}\n", []string{"start/link is neither a file nor a directory"}},
		{minimal + "workspace: {files: {../a: x}}\n", []string{"f.yaml:4:", "no name for a file in the workspace"}},
		{minimal + "workspace: {files: {a: x, a/b: y}}\n", []string{"f.yaml:4:", "a is a file, so a/b cannot be below it"}},
		{minimal + "model: {script: missing}\n", []string{"f.yaml:4:", "missing does not exist beside the task file"}},
		{minimal + "model: {script: empty.script}\n", []string{"f.yaml:4:", "it has no turn"}},
		{minimal + "model: {script: wrong.script}\n", []string{"f.yaml:4:", "line 2", "sya"}},
		{minimal + "allow: bash\n", []string{"f.yaml:4:1: /allow"}},
		{"[", []string{"f.yaml:1:", "not YAML"}},
	} {
		_, err := parse("f.yaml", []byte(test.file), root)
		if err == nil {
			t.Errorf("%q: accepted", test.file)
			continue
		}
		for _, want := range test.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q:\ngot  %v\nwant %s", test.file, err, want)
			}
		}
	}
	if _, err := parse("f.yaml", []byte(minimal), root); err != nil {
		t.Errorf("the file to which the faults were added: %v", err)
	}
	if _, err := parse("a b.yaml", []byte(minimal), root); err == nil || !strings.Contains(err.Error(), "add a name") {
		t.Errorf("a file whose name is none for a task: %v", err)
	}
}

// What a task brings along is bounded.
func TestLimits(t *testing.T) {
	sparse := func(dir, name string, size int64) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	sparse(filepath.Join(dir, "large"), "a", maxFile+1)
	for i := range maxTree/maxFile + 1 {
		sparse(filepath.Join(dir, "full"), fmt.Sprint(i), maxFile)
	}
	for i := range maxNodes + 1 {
		sparse(filepath.Join(dir, "many"), fmt.Sprint(i), 0)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{"large": "large/a has 16777217 bytes", "full": "full has more than 67108864 bytes", "many": "many has more than 10000 files"} {
		if _, err := parse("f.yaml", []byte(minimal+"workspace: {dir: "+name+"}\n"), root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (tree{}).read(root, "large"); err == nil {
		t.Error("a file that is too large is read")
	}
}

// Faults of all files are reported together; a suite without tasks is none.
func TestSuiteFaults(t *testing.T) {
	_, err := Load(directory(t, map[string]string{"a.yaml": "promt: x\n", "b.yaml": minimal, "c.yaml": "name: b\n" + minimal, "d.yaml": "["}))
	for _, want := range []string{"a.yaml:1:1: /promt", `c.yaml:1:1: the task "b" is already declared at `, "b.yaml:1", "d.yaml:1:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no task") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that does not exist is a suite")
	}
}

// The schema that is published is the one that is enforced, and describes all.
func TestSchema(t *testing.T) {
	s, err := schema.Compile(Schema())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Validate([]byte(`{"prompt":"x","verify":[{"file_absent":{"path":"a"}}]}`)); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if v, _ := s.Validate([]byte(`{"prompt":"x"}`)); v == nil {
		t.Error("a task without a verifier is valid")
	}
}

// Whatever the bytes are: no panic, and either a task that is judged by something
// or errors with the file's name.
func FuzzParse(f *testing.F) {
	for _, s := range []string{minimal, "prompt: x\nworkspace: {dir: ., files: {a/b: x}}\nverify: [{regex_match: {pattern: a|b}}, {exit_zero: {command: [x]}}]", "- x", "{", "verify: [{}]"} {
		f.Add([]byte(s))
	}
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := parse("f.yaml", data, root)
		switch {
		case err != nil:
			if !strings.HasPrefix(err.Error(), "f.yaml") {
				t.Fatalf("the error does not name the file: %v", err)
			}
		case len(task.Verify) == 0 || task.Prompt == "" || task.timeout <= 0:
			t.Fatalf("accepted: %q", data)
		default:
			for name := range task.start {
				if !filepath.IsLocal(name) {
					t.Fatalf("a file outside: %q", name)
				}
			}
		}
	})
}
