//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/cli"
)

// The examples pass, by the very command that README.md names.
func TestEvalExamples(t *testing.T) {
	code, stdout, stderr := run(t, "", "eval", filepath.Join("..", "..", "examples", "eval"))
	if code != 0 || stderr != "" || !strings.Contains(stdout, "4 of 4 tasks passed") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// An interrupted eval ends what runs, prints what was measured and leaves nothing
// behind.
func TestEvalInterrupted(t *testing.T) {
	tmp, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP"} {
		t.Setenv(name, tmp)
	}
	for name, text := range map[string]string{
		"a.yaml": "prompt: x\nmodel: {script: quick}\nverify: [{file_absent: {path: a}}]\nexpect: {calls: {min: 1}}\n",
		"b.yaml": "prompt: x\ntrials: 3\nallow: [bash]\nmodel: {script: s}\nverify: [{file_absent: {path: a}}]\nexpect: {calls: {min: 1}}\n",
		"quick":  "turn\ncall glob {\"pattern\":\"*\"}\nturn\nsay done\n",
		"s":      "turn\ncall bash {\"command\":\"touch begun; sleep 600\"}\nturn\nsay done\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if begun, _ := filepath.Glob(filepath.Join(tmp, "*", "*", "workspace", "begun")); len(begun) > 0 {
				stop()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var out, errs bytes.Buffer
	code := cli.Run(ctx, []string{"eval", dir}, nil, &out, &errs)
	for _, want := range []string{`(?m)^a +1 +1 .* passed$`, `(?m)^b +0 +0 .* incomplete$`, `(?m)^total +1 +1 +1\.00 +1\.00 .* 1 of 2 tasks passed, 1 incomplete: interrupted$`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no match of %s", want)
		}
	}
	if code != 130 || errs.Len() > 0 || t.Failed() {
		t.Errorf("exit code %d, want 130\n%s%s", code, out.String(), errs.String())
	}
	mustBeEmpty(t, tmp)
}

// Whatever a suite says, no control character of it reaches a terminal.
func TestEvalShowsNoControlCharacters(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"the name of a file":     {"a\x1b[31m.yaml": "prompt: x\n"},
		"that of a faulty one":   {"a\x1b[31m.yaml": "name: a\nprompt: x\nverify: [{file_absent: {path: a}}]\n"},
		"that of one that fails": {"a\x1b[31m.yaml": "name: a\nprompt: x\nmodel: {script: s}\nverify: [{file_absent: {path: a}}]\n", "s": "turn\nsay x\n"},
		"a name":                 {"a.yaml": "name: \"a\\e[31m\"\nprompt: x\nverify: []\n"},
		"a key":                  {"a.yaml": "\"a\\e[31m\": 1\n"},
		"a script":               {"a.yaml": "prompt: x\nmodel: {script: s}\nverify: [{file_absent: {path: a}}]\n", "s": "turn\n\x1b[31m x\n"},
		"the name of a script":   {"a.yaml": "prompt: x\nmodel: {script: \"a\\e[31m\"}\nverify: [{file_absent: {path: a}}]\n"},
		"a path":                 {"a.yaml": "prompt: x\nmodel: {script: s}\nverify: [{regex_match: {path: \"a\\e[31m\", pattern: x}}]\n", "s": "turn\nsay x\n"},
	} {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		code, stdout, stderr := run(t, "", "eval", dir)
		if all := stdout + stderr; code == 0 || strings.ContainsAny(all, "\x1b\a\u009b") || !strings.Contains(all, "[31m") && !strings.Contains(all, `\x1b`) {
			t.Errorf("%s: exit code %d, %q", name, code, all)
		}
	}
}
