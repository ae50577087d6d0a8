//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// An interrupted eval ends what runs, prints nothing and leaves nothing behind.
func TestEvalInterrupted(t *testing.T) {
	tmp, dir, begun := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "begun")
	for _, name := range []string{"TMPDIR", "TMP"} {
		t.Setenv(name, tmp)
	}
	for name, text := range map[string]string{
		"a.yaml": "prompt: x\ntrials: 3\nallow: [bash]\nmodel: {script: s}\nverify: [{file_absent: {path: a}}]\nexpect: {calls: {min: 1}}\n",
		"s":      fmt.Sprintf("turn\ncall bash {\"command\":\"touch %s; sleep 600\"}\nturn\nsay done\n", begun),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				stop()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var out, errs bytes.Buffer
	if code := cli.Run(ctx, []string{"eval", dir}, nil, &out, &errs); code != 130 || out.Len() > 0 {
		t.Errorf("exit code %d, want 130\n%s%s", code, out.String(), errs.String())
	}
	mustBeEmpty(t, tmp)
}
