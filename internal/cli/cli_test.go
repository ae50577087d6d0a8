package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/cli"
)

// run runs the command in this process.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	read := `{"calls":[{"id":"1","name":"read_file","arguments":{"path":"a.txt"}}]}`
	for _, test := range []struct {
		code  int
		stdin string
		args  string
	}{
		{0, "", ""},
		{0, "", "help"},
		{0, "", "tools"},
		{0, "", "tools list"},
		{0, read, "dispatch --workspace DIR"},
		{0, strings.ReplaceAll(read, "a.txt", "missing"), "dispatch --workspace DIR"},
		{0, read + "\n" + read, "dispatch --stream --workspace DIR"},
		{0, "", `tools validate read_file {"path":"a.txt"}`},
		{0, `{"path":"a.txt"}`, "tools call read_file - --workspace DIR"},
		{1, "", `tools validate read_file {}`},
		{1, "", `tools validate read_file {`},
		{1, "", `tools call read_file {"path":"missing"} --workspace DIR`},
		{1, "", `tools call read_file {} --workspace DIR`},
		{2, "", "demo now"},
		{2, "", "dispach"},
		{2, "", "tools lst"},
		{2, "", "dispatch --nope"},
		{2, "", "dispatch --format"},
		{2, read, "dispatch --format yaml --workspace DIR"},
		{2, read, "dispatch --allow [ --workspace DIR"},
		{2, read, "dispatch --workspace DIR/missing"},
		{2, read, "dispatch --workspace DIR/a.txt"},
		{2, "", "dispatch --workspace DIR"},
		{2, "{}", "dispatch --workspace DIR"},
		{2, read + read, "dispatch --workspace DIR"},
		{2, read + "\n{}", "dispatch --stream --workspace DIR"},
		{2, "", "tools show nope"},
		{2, "", "tools show"},
		{2, "", "tools call nope {} --workspace DIR"},
		{2, "", "completion"},
		{2, "", "eval"},
		{2, "", "eval DIR"},
		{2, "", "eval DIR/missing"},
		{3, "", `tools call write_file {"path":"b","content":""} --workspace DIR`},
	} {
		args := strings.Fields(strings.ReplaceAll(test.args, "DIR", dir))
		code, stdout, stderr := run(t, test.stdin, args...)
		if code != test.code {
			t.Errorf("callgate %s: exit code %d, want %d\n%s%s", test.args, code, test.code, stdout, stderr)
		}
		if code == 2 && !strings.HasPrefix(stderr, "callgate: ") {
			t.Errorf("callgate %s: wrong usage is not explained: %q", test.args, stderr)
		}
		if code != 2 && stderr != "" {
			t.Errorf("callgate %s: on standard error: %s", test.args, stderr)
		}
	}
}

// commands are all commands, each as the words that lead to it.
var commands = []string{
	"", "demo", "dispatch", "exec", "doctor", "eval", "tools", "tools list", "tools show", "tools schema", "tools validate", "tools call", "replay", "completion", "help",
}

func TestHelp(t *testing.T) {
	for _, c := range commands {
		args := append(strings.Fields(c), "--help")
		code, stdout, stderr := run(t, "", args...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "\nExamples:\n  callgate ") && !strings.Contains(stdout, "\nExamples:\n  source <(callgate ") {
			t.Errorf("callgate %s --help: exit code %d, no example in\n%s%s", c, code, stdout, stderr)
		}
		if strings.Contains(stdout, "\x1b") {
			t.Errorf("callgate %s --help has escapes", c)
		}
	}
	_, stdout, _ := run(t, "", "--help")
	for _, c := range commands {
		if c != "" && !strings.Contains(c, " ") && !strings.Contains(stdout, "\n  "+c+" ") {
			t.Errorf("callgate --help does not list %s", c)
		}
	}
}

// broken fails at the nth write.
type broken struct {
	n   int
	err error
}

func (b *broken) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, b.err
	}
	return len(p), nil
}

// When nobody reads any more, the command ends quietly and cleans up; when the
// disk is full, it says so.
func TestBrokenOutput(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	for n := range 30 {
		var errs bytes.Buffer
		code := cli.Run(t.Context(), []string{"demo"}, nil, &broken{n, io.ErrClosedPipe}, &errs)
		if code != 141 || errs.String() != "" {
			t.Errorf("demo, closed after %d writes: exit code %d, want 141; %s", n, code, errs.String())
		}
	}
	full := errors.New("no space left on device")
	var errs bytes.Buffer
	code := cli.Run(t.Context(), []string{"demo"}, nil, &broken{3, full}, &errs)
	if code != 1 || !strings.Contains(errs.String(), full.Error()) {
		t.Errorf("demo on a full disk: exit code %d, %q; want 1 and the reason", code, errs.String())
	}
	code = cli.Run(t.Context(), []string{"tools", "list"}, nil, &broken{0, full}, &errs)
	if code != 1 {
		t.Errorf("tools list on a full disk: exit code %d, want 1", code)
	}
	mustBeEmpty(t, tmp)
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("%s is not empty: %v %v", dir, entries, err)
	}
}

// stopper cancels when the output has come to a certain text.
type stopper struct {
	bytes.Buffer
	at   string
	stop context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if bytes.Contains(s.Bytes(), []byte(s.at)) {
		s.stop()
	}
	return n, err
}

// A demo that is interrupted, wherever that is, leaves nothing behind.
func TestDemoInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	for _, at := range []string{"script", "I will read both", "● read_file docs/todo.md", "● write_file", "● edit_file"} {
		ctx, stop := context.WithCancel(t.Context())
		out := &stopper{at: at, stop: stop}
		var errs bytes.Buffer
		if code := cli.Run(ctx, []string{"demo"}, nil, out, &errs); code != 130 {
			t.Errorf("interrupted at %q: exit code %d, want 130; %s", at, code, errs.String())
		}
		stop()
	}
	mustBeEmpty(t, tmp)
}

// Two demos tell the same story; only the times and what is drawn by lot differ.
func TestDemoIsTheSame(t *testing.T) {
	times := regexp.MustCompile(`[0-9.]+(ns|µs|ms|s)\b|artifact:[a-z0-9]+|output-[A-Z0-9]+|(?m:^.*…$)`) // a clipped line ends where its times let it
	_, first, _ := run(t, "", "demo")
	_, second, _ := run(t, "", "demo")
	if a, b := times.ReplaceAllString(first, "T"), times.ReplaceAllString(second, "T"); a != b || a == first {
		t.Errorf("the first demo says\n%s\nthe second\n%s", a, b)
	}
}
