package process_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/process"
)

// How processes stay behind, by the shell lines that leave them there. Each
// carries the mark in its arguments; N is a time that nobody waits for.
var hidings = []struct{ name, line string }{
	{"background", "sleep % &"},
	{"ignores signals", "(trap '' TERM HUP INT; sleep %; sleep %) &"},
	{"own session", "setsid sleep % &"},
	{"two forks and a session", "(setsid sh -c 'sleep % & exit' &)"},
	{"no environment", "env -i sleep % &"},
	{"session, no environment", "(env -i setsid sleep % &)"},
	{"stopped", "sh -c 'kill -STOP $$; sleep %' &"},
	{"many", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep % & setsid sleep % & done"},
	{"comes back", "(trap '' TERM; while :; do sleep %; done) & setsid sh -c 'trap \"\" TERM; while :; do sleep %; done' &"},
	{"runs away", "setsid ./run % &"}, // starts itself in a new session, again and again
}

// How the call ends.
var ends = []struct {
	name, line string
	how        func(*process.Command, context.CancelFunc)
	reason     process.Reason
}{
	{"exits", "true", nil, process.Exited},
	{"fails", "kill -9 $$", nil, process.Exited},
	{"timeout", "while :; do sleep 9; done", func(c *process.Command, _ context.CancelFunc) { c.Timeout = 1500 * time.Millisecond }, process.Timeout},
	{"canceled", "while :; do sleep 9; done", func(_ *process.Command, cancel context.CancelFunc) {
		time.AfterFunc(700*time.Millisecond, cancel)
	}, process.Canceled},
	{"output limit", "yes", func(c *process.Command, _ context.CancelFunc) { c.Limit = 1 << 20 }, process.OutputLimit},
	{"helper killed", "sleep 0.2; kill -9 $PPID; sleep 1", nil, process.Lost},
	{"helper stopped", "kill -STOP $PPID; sleep 9", func(c *process.Command, _ context.CancelFunc) { c.Timeout = 1500 * time.Millisecond }, process.Timeout},
}

// levels are those that start on this machine.
func levels() []process.Level {
	all := []process.Level{process.None}
	for _, t := range process.Probe().Tried {
		if t.Err == "" {
			all = append(all, t.Level)
		}
	}
	if all[len(all)-1] == process.Isolated && slow == 1 { // under the race detector it is the same code
		all = append(all, process.Confined) // which is not tried where isolated starts
	}
	return all
}

// unpromised is what the package says that it does not do without a sandbox (see its
// documentation).
var unpromised = []string{"session, no environment/helper killed", "runs away/helper killed"}

// runaway is a program that is never the same process for long.
const runaway = "#!/bin/sh\ntrap '' TERM\n[ -e stop ] && exit\nsetsid ./run $1 &\n"

// However processes hide and however the call ends, none is left: by their mark,
// which is in their arguments or in their environment.
func TestNothingIsLeft(t *testing.T) {
	for _, level := range levels() {
		for _, hiding := range hidings {
			for _, end := range ends {
				name := hiding.name + "/" + end.name
				if level == process.None && slices.Contains(unpromised, name) {
					continue
				}
				t.Run(level.String()+"/"+name, func(t *testing.T) {
					t.Parallel()
					m := newMark(t)
					cmd := in(t, "echo ready\n"+strings.ReplaceAll(hiding.line, "%", m.seconds)+"\n"+end.line)
					m.put(t, &cmd)
					cmd.Sandbox.Level = level
					cmd.Grace = 100 * time.Millisecond
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if end.how != nil {
						end.how(&cmd, cancel)
					}
					want := end.reason
					if level != process.None && want == process.Lost {
						want = process.Exited // the helper is out of its reach
					}
					begin := time.Now()
					r, err := process.Run(ctx, cmd)
					if err != nil {
						t.Fatal(err)
					}
					if d := time.Since(begin); d > 15*slow*time.Second {
						t.Errorf("took %v", d)
					}
					if r.Reason != want || !strings.HasPrefix(r.Output.String(), "ready\n") || r.Survivors != 0 || r.Level != level {
						t.Errorf("%+v and output %.40q, want %q", r, r.Output.String(), want)
					}
					if left := m.left(); len(left) > 0 {
						t.Errorf("left behind: %v", left)
					}
				})
			}
		}
	}
}

// A mark is a number of seconds that no other test's processes sleep for.
type mark struct{ seconds, cookie string }

func newMark(t *testing.T) mark {
	m := mark{fmt.Sprintf("5%09d", time.Now().UnixNano()%1e9), "TEST_COOKIE=" + rand.Text()}
	t.Cleanup(func() { // no test leaves what it found
		for pid := range m.left() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return m
}

func (m mark) put(t *testing.T, cmd *process.Command) {
	name, value, _ := strings.Cut(m.cookie, "=")
	cmd.Env.Set = map[string]string{name: value}
	dir := cmd.Env.Workspace
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte(runaway), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644) })
}

// left returns the command lines of the processes that carry the mark.
func (m mark) left() map[int]string {
	found := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		args, _ := os.ReadFile(dir + "/cmdline")
		env, _ := os.ReadFile(dir + "/environ")
		if pid != os.Getpid() && (bytes.Contains(args, []byte(m.seconds)) || bytes.Contains(env, []byte(m.cookie))) {
			found[pid] = strings.ReplaceAll(string(args), "\x00", " ")
		}
	}
	return found
}

func init() {
	roles["caller"] = func() int {
		cmd := process.Command{Args: process.Shell(os.Getenv("LINE")), Output: os.Stdout, Sandbox: process.Sandbox{Level: process.Level(os.Getenv("LEVEL"))}, Env: process.Environment{
			Workspace: os.Getenv("DIR"), Pass: []string{"TEST_COOKIE"}}}
		process.Run(context.Background(), cmd)
		return 0
	}
}

// When the caller is killed, what it started goes with it, and so does the
// temporary directory.
func TestCallerKilled(t *testing.T) {
	for _, level := range levels() {
		for _, hiding := range hidings {
			t.Run(level.String()+"/"+hiding.name, func(t *testing.T) { callerKilled(t, level, hiding.line) })
		}
	}
}

func callerKilled(t *testing.T, level process.Level, line string) {
	t.Parallel()
	m := newMark(t)
	cmd := in(t, "")
	m.put(t, &cmd)
	temp := t.TempDir()
	caller := exec.Command("/proc/self/exe")
	caller.Env = append(os.Environ(), "PROCESS_TEST_ROLE=caller", m.cookie, "DIR="+cmd.Env.Workspace, "TMPDIR="+temp, "LEVEL="+string(level),
		"LINE=touch $TMPDIR/mine; "+strings.ReplaceAll(line, "%", m.seconds)+"\necho ready; while :; do sleep 9; done")
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if len(m.left()) < 2 { // the caller itself has the mark
		t.Error("nothing runs: this test shows nothing")
	}
	caller.Process.Kill()
	caller.Wait()
	var left map[int]string
	var files []os.DirEntry
	for range 300 {
		left = m.left()
		files, _ = os.ReadDir(temp)
		if len(left)+len(files) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("left behind: %v, %v", left, files)
}

// When the helper could do nothing before it and its caller were killed, the process
// itself ends at least.
func TestCallerAndHelperKilled(t *testing.T) {
	t.Parallel()
	m := newMark(t)
	caller := role(t, "caller")
	caller.Env = append(caller.Env, m.cookie, "LEVEL=none", "LINE=kill -STOP $PPID; echo $PPID $$; read x < <(sleep "+m.seconds+")")
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	defer caller.Wait()
	var helper, shell int
	if _, err := fmt.Fscan(out, &helper, &shell); err != nil {
		t.Fatal(err)
	}
	caller.Process.Kill()
	syscall.Kill(helper, syscall.SIGKILL)
	for range 200 {
		if syscall.Kill(shell, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the shell lives on")
}
