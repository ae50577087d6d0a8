//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A place is where commands of a test run: a workspace and the state of its user.
type place struct {
	t          *testing.T
	state, dir string
}

func newPlace(t *testing.T) place { return place{t, t.TempDir(), t.TempDir()} }

func (p place) command(stdin string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "callgate", args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+p.state, "XDG_CONFIG_HOME="+p.state, "XDG_CACHE_HOME="+p.state)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

// run returns what a command that must succeed prints.
func (p place) run(stdin string, args ...string) string {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := p.command(stdin, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Errorf("callgate %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// A dispatch that is killed while its command runs: the same turn again says that
// nobody knows, and the command is not started a second time.
func TestKilledDispatch(t *testing.T) {
	p := newPlace(t)
	turn := `{"calls":[{"id":"a","name":"bash","arguments":{"command":"echo begun >> begun; sleep 5 && echo x >> log"}},{"id":"b","name":"read_file","arguments":{"path":"begun"}}]}`
	args := []string{"dispatch", "--workspace", p.dir, "--session", "s", "--allow", "bash"}
	cmd := p.command(turn, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.dir, "begun")); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal("the command was not started")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	for range 2 {
		out := p.run(turn, args...)
		if !strings.Contains(out, `"callId":"a","tool":"bash","status":"failed","isError":true,"code":"outcome_unknown"`) || !strings.Contains(out, "verify its effect before you repeat it") {
			t.Errorf("the same turn again: %s", out)
		}
		if !strings.Contains(out, `"callId":"b","tool":"read_file","status":"succeeded"`) {
			t.Errorf("the read, which had not started: %s", out)
		}
	}
	if begun, _ := os.ReadFile(filepath.Join(p.dir, "begun")); string(begun) != "begun\n" {
		t.Errorf("the command was started %d times", strings.Count(string(begun), "\n"))
	}
	if out := p.run("", "audit", "verify"); !strings.HasPrefix(out, "intact: ") {
		t.Error(out)
	}
	if out := p.run("", "show", "s/0/0"); !strings.Contains(out, "outcome_unknown (unknown)") {
		t.Error(out)
	}
}

// One session belongs to one process; another session in the same workspace is
// not disturbed.
func TestSessionOfOneProcess(t *testing.T) {
	p := newPlace(t)
	first := p.command("", "dispatch", "--stream", "--workspace", p.dir, "--session", "s")
	first.Stdin = nil
	in, err := first.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "{\"calls\":[]}\n")
	if _, err := io.ReadFull(out, make([]byte, len("{\"results\":[]}\n"))); err != nil {
		t.Fatal(err)
	}
	second := p.command(`{"calls":[]}`, "dispatch", "--workspace", p.dir, "--session", "s")
	var errs bytes.Buffer
	second.Stderr = &errs
	if err := second.Run(); err == nil || !strings.Contains(errs.String(), "session s is in use by another process; wait for its end, or name another with --session") {
		t.Errorf("a second process in the session: %v, %s", err, errs.String())
	}
	p.run(`{"calls":[]}`, "dispatch", "--workspace", p.dir, "--session", "other")
	if out := p.run("", "sessions", "list"); !strings.Contains(out, "in use") {
		t.Errorf("the list: %s", out)
	}
	var exit *exec.ExitError
	rm := p.command("", "sessions", "rm", "s")
	if err := rm.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("a session in use was removed: %v", err)
	}
	in.Close()
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	p.run(`{"calls":[]}`, "dispatch", "--workspace", p.dir, "--session", "s")
}

// Two processes that work in one workspace and one journal at once: every change
// of each is there, every call has its row, and the chain holds.
func TestTwoProcesses(t *testing.T) {
	const turns = 30
	p := newPlace(t)
	p.run(`{"calls":[{"name":"write_file","arguments":{"path":"shared.txt","content":"a: 0\n\n\n\n\nb: 0\n"}}]}`, "dispatch", "--workspace", p.dir, "--allow", "write_file", "--session", "begin")
	var wg sync.WaitGroup
	conflicts := make([]int, 2)
	for i, who := range []string{"a", "b"} {
		wg.Go(func() {
			cmd := p.command("", "dispatch", "--stream", "--workspace", p.dir, "--session", who, "--allow", "*_file")
			cmd.Stdin = nil
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			answers := json.NewDecoder(out)
			ask := func(name string, args any) (code, text string) {
				b, _ := json.Marshal(map[string]any{"calls": []any{map[string]any{"name": name, "arguments": args}}})
				in.Write(append(b, '\n'))
				var a struct {
					Results []struct {
						Code, Message string
						Content       []struct{ Text string }
					}
				}
				if err := answers.Decode(&a); err != nil || len(a.Results) != 1 {
					t.Errorf("%s: %v", who, err)
					return "no answer", ""
				}
				for _, c := range a.Results[0].Content {
					text += c.Text
				}
				return a.Results[0].Code, text + a.Results[0].Message
			}
			for n := range turns {
				if code, text := ask("write_file", map[string]any{"path": fmt.Sprintf("%s/%d.txt", who, n), "content": who}); code != "" {
					t.Errorf("%s, file %d: %s %s", who, n, code, text)
				}
				for {
					ask("read_file", map[string]any{"path": "shared.txt"})
					code, text := ask("edit_file", map[string]any{"path": "shared.txt", "old_text": fmt.Sprintf("%s: %d\n", who, n), "new_text": fmt.Sprintf("%s: %d\n", who, n+1)})
					if code == "" {
						break
					}
					if conflicts[i]++; code != "conflict" || conflicts[i] > 1000 {
						t.Errorf("%s, edit %d: %s %s", who, n, code, text)
						break
					}
				}
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v", who, err)
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(p.dir, "shared.txt"))
	if want := fmt.Sprintf("a: %d\n\n\n\n\nb: %d\n", turns, turns); err != nil || string(got) != want {
		t.Errorf("the file that both edited: %q, %v; want %q", got, err, want)
	}
	calls := 1 + 2*turns*3 + 2*(conflicts[0]+conflicts[1])
	if out := p.run("", "audit", "verify"); !strings.Contains(out, fmt.Sprintf(" %d calls;", calls)) {
		t.Errorf("%s; want %d calls", out, calls)
	}
}

// An agent that is killed at any moment can be continued: no effect happens twice,
// each that happened has its row, and what the model is sent next is whole.
func TestKilledRun(t *testing.T) {
	kills := 6 // lives
	if os.Getenv("CI") != "" {
		kills = 16
	}
	p := newPlace(t)
	write := func(name, text string) string {
		path := filepath.Join(p.state, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	turns := func(from string) string {
		var b strings.Builder
		for n := range 4 {
			fmt.Fprintf(&b, "turn\nsay %s, turn %d.\n", from, n)
			for k := range 3 {
				fmt.Fprintf(&b, "call bash {\"command\":\"echo %s-%d-%d >> log\"}\ncall read_file {\"path\":\"log\"}\n", from, n, k)
			}
		}
		return b.String() + "turn\nsay End.\n"
	}
	args := []string{"run", "--workspace", p.dir, "--allow", "bash", "--script"}
	begin := time.Now()
	p.run("", append(args, write("whole", turns("whole")), "--session", "whole", "Go.")...)
	took := time.Since(begin)
	killed := 0
	for n := range kills {
		// Each life goes on from the last one, whose last words may be anything.
		which := []string{"--continue"}
		if n == 0 {
			which = []string{"--session", "story"}
		}
		cmd := p.command("", append(append(args, write("script", turns(fmt.Sprint("life", n)))), append(which, "Go on.")...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The first life must have begun its session to be continued.
		wait := time.Duration(rand.Int64N(int64(took)))
		if n == 0 {
			wait = took * 3 / 4
		}
		time.Sleep(wait)
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
	}
	out := p.run("", append(args, write("last", "turn\nexpect The end.\nsay Goodbye.\n"), "--resume", "story", "The end.")...)
	if !strings.Contains(out, "model: Goodbye.") {
		t.Errorf("the last life: %s", out)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	happened := map[string]int{}
	for word := range strings.FieldsSeq(string(log)) {
		if happened[word]++; happened[word] > 1 {
			t.Errorf("%s happened %d times", word, happened[word])
		}
	}
	var shown struct {
		Open  int
		Calls []struct {
			Tool, Code string
			Arguments  struct{ Command string }
		}
	}
	if err := json.Unmarshal([]byte(p.run("", "sessions", "show", "story", "--json")), &shown); err != nil || shown.Open != 0 {
		t.Errorf("%d calls are open: %v", shown.Open, err)
	}
	doubt := 0
	for _, c := range shown.Calls {
		if c.Tool != "bash" {
			continue
		}
		word := strings.Fields(c.Arguments.Command)[1]
		if c.Code == "" && happened[word] != 1 {
			t.Errorf("%s is recorded as done and is not in the log", word)
		}
		if c.Code == "outcome_unknown" {
			doubt++
		}
		delete(happened, word)
	}
	for word := range happened {
		if !strings.HasPrefix(word, "whole") {
			t.Errorf("%s happened without a claim", word)
		}
	}
	if out := p.run("", "audit", "verify"); !strings.HasPrefix(out, "intact: ") {
		t.Error(out)
	}
	t.Logf("%d of %d lives were killed; %d calls, %d in doubt", killed, kills, len(shown.Calls), doubt)
}
