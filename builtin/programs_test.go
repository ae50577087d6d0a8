package builtin

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// TestMain makes the test binary what every program that starts others is.
func TestMain(m *testing.M) {
	process.Main()
	if r := process.Probe(); r.Level == "" { // what runs programs shows nothing then
		fmt.Fprintln(os.Stderr, "no sandbox starts on this machine, so tests that run programs are skipped:", r.Tried)
		flag.Set("test.skip", "^(TestBash|TestCommand|TestJob|TestCanary)")
	}
	os.Exit(m.Run())
}

// A shop is a workspace with bash and other programs behind a real dispatcher.
type shop struct {
	*world
	programs *Programs
}

func newShop(t testing.TB, commands ...Command) *shop {
	t.Helper()
	dir := t.TempDir()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := artifact.Open(t.TempDir(), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close(); store.Close() })
	s := &shop{world: worldOf(t, dir, &Files{Workspace: ws, Artifacts: store})}
	s.programs = &Programs{Artifacts: store, Env: process.Environment{
		Workspace: ws.Dir(), Caches: t.TempDir(), Caller: append(os.Environ(), "CANARY_API_KEY=s3cr3t-canary"),
	}, Jobs: new(Jobs)}
	t.Cleanup(s.programs.Jobs.Close)
	tools, err := s.files.Tools()
	if err != nil {
		t.Fatal(err)
	}
	bash, err := s.programs.Bash(ws)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := s.programs.Jobs.Tools()
	if err != nil {
		t.Fatal(err)
	}
	tools = append(append(tools, bash), jobs...)
	for _, c := range commands {
		tool, err := s.programs.Command(c)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	var r callgate.Registry
	if err := r.Register(tools...); err != nil {
		t.Fatal(err)
	}
	s.tools = r.Catalog()
	s.gate.Grace = 2 * time.Second
	s.gate.Spill = func(ctx context.Context, _ callgate.Identity, out string) (string, error) {
		a, err := store.Put(ctx, strings.NewReader(out))
		return a.Ref(), err
	}
	return s
}

// What a command does and what the model is told of it. H098, H103, H110, H114,
// H116, H119.
func TestBash(t *testing.T) {
	s := newShop(t)
	for _, tt := range []struct {
		command string
		code    callgate.Code
		says    []string // in what the model reads
		not     []string
		exit    float64
	}{
		{"echo hi", "", []string{"exit code: 0, ", "\nhi\n"}, []string{"Note"}, 0},
		{"true", "", []string{"exit code: 0", "(no output)"}, nil, 0},
		{"echo out; echo err >&2; exit 3", "", []string{"exit code: 3", "out\nerr"}, nil, 3},
		{"grep nothing /dev/null", "", []string{"exit code: 1"}, nil, 1},
		{"no-such-program", "", []string{"exit code: 127", "was not found", "not found"}, nil, 127},
		{"echo x > script; ./script", "", []string{"exit code: 126", "chmod +x"}, nil, 126},
		{"kill -TERM $$", "", []string{"exit code: 143 (SIGTERM)"}, nil, 143},
		{"sleep 300 & echo started", "", []string{"exit code: 0", "started", "1 background job still ran"}, nil, 0},
		{"cat; echo after", "", []string{"exit code: 0", "after"}, nil, 0},
		{"read x </dev/tty; echo rc=$?", "", []string{"rc=1"}, nil, 0},
		{`printf 'a\000b\033[31mred\033[0m\377c'`, "", []string{"ab", "red", "c", "replaced", "removed"}, []string{"\x00", "\x1b", "\xff"}, 0},
		{"head -c 5000 /dev/urandom", "", []string{"binary output: 5000 bytes"}, nil, 0},
		{"env", "", []string{"TERM=dumb", "HOME=" + s.dir, "PWD=" + s.dir}, []string{"s3cr3t", "CANARY"}, 0},
		{"exit 1", "", []string{"withheld"}, nil, 1},
		{"echo a > made.txt; cat made.txt", "", []string{"\na\n"}, nil, 0},
	} {
		r := s.call("bash", "command", tt.command)
		text := r.ModelText()
		if r.Code != tt.code {
			t.Errorf("%s: code %q", tt.command, r.Code)
		}
		for _, want := range tt.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", tt.command, want, text)
			}
		}
		for _, no := range tt.not {
			if strings.Contains(text, no) {
				t.Errorf("%s: %q is in\n%s", tt.command, no, text)
			}
		}
		var out struct {
			ExitCode float64 `json:"exit_code"`
		}
		if err := json.Unmarshal(r.Structured, &out); err != nil || out.ExitCode != tt.exit {
			t.Errorf("%s: structured %s (%v)", tt.command, r.Structured, err)
		}
	}
}

// H106, H113, H120: a limit ends a command with all that it started; what it had
// printed is returned, and the typed fields are those of a success.
func TestBashTimeout(t *testing.T) {
	s := newShop(t)
	start := time.Now()
	r := s.call("bash", "command", "trap '' TERM; echo so far; (sleep 2; touch late) & sleep 100", "timeout_ms", 300)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if text := r.ModelText(); r.Code != callgate.Timeout || !strings.Contains(text, "so far") || !strings.Contains(text, "may have taken effect") {
		t.Errorf("got %s", text)
	}
	if !regexp.MustCompile(`"exit_code":137.*"reason":"timeout"`).Match(r.Structured) {
		t.Errorf("structured %s", r.Structured)
	}
	for _, bad := range []any{0, -1, 1e12, 600_001} {
		if r := s.call("bash", "command", "true", "timeout_ms", bad); r.Code != callgate.InvalidArguments {
			t.Errorf("timeout_ms %v: %s", bad, r)
		}
	}
	// H168: the model has no say in the environment.
	if r := s.call("bash", "command", "true", "env", map[string]string{"BASH_ENV": "/tmp/x"}); r.Code != callgate.InvalidArguments {
		t.Errorf("env of the model's: %s", r)
	}
	time.Sleep(time.Until(start.Add(3 * time.Second))) // H108
	if _, err := os.Stat(filepath.Join(s.dir, "late")); err == nil {
		t.Error("what the command had started went on after the answer")
	}
}

// Output over the cap: start and end stay, and the whole can be paged. H118, H119.
func TestBashLongOutput(t *testing.T) {
	s := newShop(t)
	r := s.call("bash", "command", "seq 1 50000; echo FAILED-HERE >&2; exit 3")
	text := r.ContentText()
	if r.Code != "" || !r.Truncated || !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "FAILED-HERE") || len(text) > 50_500 {
		t.Fatalf("%q, truncated %v, %d bytes: %.40q … %.40q", r.Code, r.Truncated, len(text), text, text[max(0, len(text)-40):])
	}
	if !strings.Contains(r.ModelText(), "exit code: 3") || !strings.Contains(r.ModelText(), "read_file with path "+r.Artifact) {
		t.Errorf("notes %q", r.Notes)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !regexp.MustCompile(`^(\d+|FAILED-HERE|\[\.\.\. \d+ bytes left out \.\.\.\])$`).MatchString(line) {
			t.Errorf("a line was cut: %q", line)
		}
	}
	page := s.call("read_file", "path", r.Artifact, "offset", 25_000, "limit", 2)
	if !strings.Contains(page.ContentText(), "25000\t25000\n") && !strings.Contains(page.ContentText(), "25000") {
		t.Errorf("the page of the artifact: %s", page)
	}
}

// A command that prints without end is killed, with a code, and its start and end
// are there.
func TestBashOutputLimit(t *testing.T) {
	s := newShop(t)
	r := s.call("bash", "command", "yes", "timeout_ms", 60_000)
	if r.Code != callgate.ExecutionError || !strings.Contains(r.Message, "which is the limit") || !r.Truncated || !strings.HasPrefix(r.ContentText(), "y\ny\n") || r.Artifact == "" {
		t.Errorf("code %q, truncated %v, artifact %q: %.300s", r.Code, r.Truncated, r.Artifact, r)
	}
	if !strings.Contains(string(r.Structured), `"reason":"output_limit"`) {
		t.Errorf("structured %s", r.Structured)
	}
}

func TestBashWorkdir(t *testing.T) {
	s := newShop(t)
	if err := os.MkdirAll(filepath.Join(s.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := s.call("bash", "command", "pwd", "workdir", "sub"); !strings.Contains(r.ContentText(), filepath.Join(s.dir, "sub")) {
		t.Errorf("got %s", r)
	}
	for _, dir := range []string{"..", "/", "/etc", "nowhere", "sub/../.."} {
		if r := s.call("bash", "command", "touch x", "workdir", dir); r.Code != callgate.ExecutionError {
			t.Errorf("workdir %q: %s", dir, r)
		}
	}
}

// H096: bash writes everything as far as order goes, unless it is proven to read.
func TestBashAccess(t *testing.T) {
	for command, write := range map[string]bool{
		"ls -l": false, "cat a.txt | wc -l": false, "grep -r x . && head b": false,
		"touch x": true, "ls > out": true, "cat $(touch x)": true, "git status": true, "((": true, "make": true,
	} {
		args, _ := json.Marshal(map[string]string{"command": command})
		if got := bashAccess(args); len(got) != 1 || got[0].Key != "file:" || got[0].Write != write {
			t.Errorf("%s: %+v, want write %v", command, got, write)
		}
	}
}

// H098: one command that fails cancels none of its siblings.
func TestBashAmongSiblings(t *testing.T) {
	s := newShop(t)
	s.put("a.txt", "content\n")
	got := s.gate.Dispatch(t.Context(), s.tools, callgate.Calls(
		callgate.Call{ID: "1", Name: "bash", Arguments: json.RawMessage(`{"command":"grep nothing a.txt"}`)},
		callgate.Call{ID: "2", Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)},
		callgate.Call{ID: "3", Name: "bash", Arguments: json.RawMessage(`{"command":"echo changed > a.txt"}`)},
		callgate.Call{ID: "4", Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)},
	))
	for i, want := range []string{"exit code: 1", "content", "exit code: 0", "changed"} {
		if got[i].Code != "" || !strings.Contains(got[i].ModelText(), want) {
			t.Errorf("call %d: %s, want %q", i+1, got[i], want)
		}
	}
}

// A canceled turn returns what the command had printed, and nothing runs on.
func TestBashCancel(t *testing.T) {
	s := newShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	got := s.gate.Dispatch(ctx, s.tools, callgate.Calls(callgate.Call{Name: "bash", Arguments: json.RawMessage(`{"command":"echo so far; sleep 100"}`)}))[0]
	if got.Code != callgate.Canceled || !strings.Contains(got.ContentText(), "so far") {
		t.Errorf("got %s", got)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A program in any language: arguments in on standard input, result out on
// standard output, failure by the exit code.
func TestCommand(t *testing.T) {
	const in = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	const out = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	for _, tt := range []struct {
		name, script, args string
		output             bool // with an outputSchema
		code               callgate.Code
		says, not          []string
		structured         string
	}{
		{name: "it gets the bytes of the arguments", script: "cat", args: `{"city": "Oslo"}`, says: []string{`{"city": "Oslo"}`}},
		{name: "bad arguments never start it", script: "touch started", args: `{"town":"Oslo"}`, code: callgate.InvalidArguments, says: []string{"/city", "/town"}},
		{name: "standard error of a success is not the result", script: "echo noise >&2; echo result", args: `{"city":"x"}`, says: []string{"result"}, not: []string{"noise"}},
		{name: "a failure has the end of standard error", script: "seq 1 5000 >&2; echo no such city >&2; exit 4", args: `{"city":"x"}`, code: callgate.ExecutionError,
			says: []string{"exit code: 4", "no such city", "[...]"}, not: []string{"\n17\n"}},
		{name: "structured", script: `echo '{"n":9007199254740993}'`, args: `{"city":"x"}`, output: true, structured: `{"n":9007199254740993}`},
		{name: "not what it promises", script: `echo '{"n":"1"}'`, args: `{"city":"x"}`, output: true, code: callgate.ExecutionError, says: []string{"/n"}},
		{name: "no JSON", script: "echo hello", args: `{"city":"x"}`, output: true, code: callgate.ExecutionError, says: []string{"not JSON"}},
		{name: "it is stopped in time", script: "echo begun; echo why >&2; sleep 100", args: `{"city":"x"}`, code: callgate.Timeout, says: []string{"begun", "why"}},
		{name: "it does not see keys", script: "env", args: `{"city":"x"}`, not: []string{"s3cr3t"}, says: []string{"TERM=dumb"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Command{Spec: callgate.Spec{Name: "prog", InputSchema: json.RawMessage(in), TimeoutMS: 800}, Args: []string{script(t, tt.script)}}
			if tt.output {
				c.OutputSchema = json.RawMessage(out)
			}
			s := newShop(t, c)
			r := s.gate.Dispatch(t.Context(), s.tools, callgate.Calls(callgate.Call{Name: "prog", Arguments: json.RawMessage(tt.args)}))[0]
			text := r.ModelText()
			if r.Code != tt.code || tt.structured != "" && string(r.Structured) != tt.structured {
				t.Errorf("code %q, structured %s\n%s", r.Code, r.Structured, text)
			}
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, no := range tt.not {
				if strings.Contains(text, no) {
					t.Errorf("%q is in\n%s", no, text)
				}
			}
			if _, err := os.Stat(filepath.Join(s.dir, "started")); err == nil {
				t.Error("it was started")
			}
		})
	}
}

// H170: a program that cannot be started is an error that says why and what to do.
func TestCommandNotStarted(t *testing.T) {
	s := newShop(t, Command{Spec: callgate.Spec{Name: "gone"}, Args: []string{"/nowhere/tool"}})
	r := s.call("gone")
	if r.Code != callgate.ExecutionError || r.State != callgate.NotStarted || !strings.Contains(r.Message, "/nowhere/tool") || !strings.Contains(r.Message, "env.pass") {
		t.Errorf("got %s (%s)", r, r.State)
	}
	if _, err := new(Programs).Command(Command{Spec: callgate.Spec{Name: "x"}, Args: []string{"x"}}); err == nil {
		t.Error("a program without a workspace is accepted")
	}
}

// A secret of the caller's is in no output, event or artifact, whatever the
// command tries within its own rights short of looking into other processes.
func TestCanary(t *testing.T) {
	s := newShop(t)
	var seen strings.Builder
	s.gate.Observers = []callgate.Observer{func(_ context.Context, e callgate.Event) { fmt.Fprintf(&seen, "%+v", e) }}
	for _, c := range []string{"env", "set", "export -p", "declare -x", "printenv CANARY_API_KEY", "cat /proc/self/environ", "python3 -c 'import os; print(os.environ)'", "env; seq 1 20000; env"} {
		r := s.call("bash", "command", c)
		j, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&seen, "%s", j)
		if r.Artifact != "" {
			id, _ := artifact.ParseRef(r.Artifact)
			f, err := s.files.Artifacts.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&seen, f); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
	if strings.Contains(seen.String(), "s3cr3t") {
		t.Error("the canary was seen")
	}
	if !strings.Contains(seen.String(), "TERM=dumb") {
		t.Error("the commands did not run: the test shows nothing")
	}
}
