package process_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/process"
)

func within(t *testing.T, limit time.Duration, begin time.Time) {
	t.Helper()
	// What it must not wait for lasts minutes: the limit allows for a busy machine.
	if d := time.Since(begin); d > 3*slow*limit {
		t.Errorf("took %v, want at most %v", d, 3*slow*limit)
	}
}

// H103: a background process does not hold the call, and ends with it.
func TestBackground(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	r := run(t, in(t, "sleep 555 & printf finished"))
	within(t, 2*time.Second, begin)
	if r.Output.String() != "finished" || r.ExitCode != 0 || r.Reason != process.Exited || r.Background != 1 {
		t.Errorf("%+v", r)
	}
	// What is about to end by itself may do so, and is not counted. A busy machine may
	// need more time than there is.
	for range 5 {
		if r = run(t, in(t, "(sleep 0.01; echo late) & echo early")); r.Output.String() == "early\nlate\n" && r.Background == 0 {
			break
		}
	}
	if r.Output.String() != "early\nlate\n" || r.Background != 0 {
		t.Errorf("%+v: %s", r, r.Output)
	}
	// What wants to tidy up when it is told to end may do so.
	r = run(t, in(t, `bash -c 'trap "echo tidied; exit" TERM; echo set >&2; sleep 100 & wait' & sleep 0.3; echo end`))
	if got := r.Output.String(); got != "set\nend\ntidied\n" || r.Background == 0 {
		t.Errorf("%q, %+v", got, r)
	}
	// An output that is closed is not an end.
	if r = run(t, in(t, "exec >&- 2>&-; sleep 0.2; exit 7")); r.ExitCode != 7 {
		t.Errorf("%+v", r)
	}
}

// H106: a timeout ends the children of the shell too, and says what there was. H108:
// nothing happens after the verdict.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, line, output, signal string }{
		{"H106", "echo begin; sh -c 'sleep 600'; true", "begin\n", "SIGTERM"},
		{"H108", "(sleep 1.5; touch late) & wait", "", "SIGTERM"},
		{"deaf", "trap '' TERM; echo begin; sleep 100; sleep 100", "begin\n", "SIGKILL"},
		{"says goodbye", "trap 'echo end; exit 4' TERM; echo begin; sleep 100 & wait", "begin\nend\n", ""},
		{"stopped", "trap 'echo end; exit 4' TERM; echo begin; kill -STOP $$", "begin\nend\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := in(t, test.line)
			cmd.Timeout, cmd.Grace = 500*time.Millisecond, 200*time.Millisecond
			begin := time.Now()
			r := run(t, cmd)
			within(t, 3*time.Second, begin)
			if r.Reason != process.Timeout || r.Output.String() != test.output || r.Signal != test.signal {
				t.Errorf("%+v: %s", r, r.Output)
			}
			if test.name == "H108" {
				time.Sleep(1200 * time.Millisecond)
				if _, err := os.Stat(filepath.Join(cmd.Env.Workspace, "late")); err == nil {
					t.Error("a process went on after the verdict")
				}
			}
		})
	}
	// H113: without a timeout there is one.
	if process.DefaultTimeout != 2*time.Minute {
		t.Errorf("the default timeout is %v", process.DefaultTimeout)
	}
	// The deadline of the context is a timeout, its end is none.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if r, err := process.Run(ctx, in(t, "sleep 100")); err != nil || r.Reason != process.Timeout || r.ExitCode != 143 {
		t.Errorf("%+v, %v", r, err)
	}
}

// H111: a program that opens the terminal finds none, though the caller has one.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Logf("no terminal can be made here, so there is none to be found: %v", err)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, "-qec", "echo control >/dev/tty; "+self, "/dev/null")
	cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=caller", "DIR="+t.TempDir(), "LINE=echo prompt >/dev/tty; read x </dev/tty; echo rc=$?; tty")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.ReplaceAll(string(out), "\r", "")
	if !strings.HasPrefix(got, "control\n") {
		t.Errorf("the caller has no terminal: this test shows nothing: %s", got)
	}
	if strings.Contains(got, "prompt\n") || !strings.Contains(got, "rc=1\n") || !strings.Contains(got, "not a tty") {
		t.Errorf("%s", got)
	}
}

// H112: version control opens no editor and no pager.
func TestNoEditor(t *testing.T) {
	t.Parallel()
	cmd := in(t, "git init -q . && git -c user.name=a -c user.email=a@b.c commit --allow-empty; echo rc=$?; git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m one; git log --format=%s")
	cmd.Env.Caller = []string{"PATH=" + os.Getenv("PATH"), "EDITOR=touch edited; sleep 100", "VISUAL=touch edited; sleep 100", "GIT_EDITOR=touch edited; sleep 100", "GIT_PAGER=touch paged; sleep 100"}
	begin := time.Now()
	r := run(t, cmd)
	within(t, 5*time.Second, begin)
	if got := r.Output.String(); !strings.Contains(got, "rc=1\n") || !strings.HasSuffix(got, "one\n") {
		t.Errorf("%s", got)
	}
	for _, name := range []string{"edited", "paged"} {
		if _, err := os.Stat(filepath.Join(cmd.Env.Workspace, name)); err == nil {
			t.Errorf("it was %s", name)
		}
	}
}

// H119: the end of a long output is kept, with how much was left out. H120: a
// failure has all that a success has.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	var spilled bytes.Buffer
	cmd := in(t, "seq 1 200000; echo FAILED-HERE >&2; exit 3")
	cmd.Output = &spilled
	r := run(t, cmd)
	const total = 1288895 + 12
	if r.ExitCode != 3 || r.Output.Total != total || spilled.Len() != total || len(r.Output.Head) != 10_000 || len(r.Output.Tail) != 40_000 || r.Output.Omitted() != total-50_000 {
		t.Errorf("exit code %d, %d bytes, %d spilled, %d + %d kept", r.ExitCode, r.Output.Total, spilled.Len(), len(r.Output.Head), len(r.Output.Tail))
	}
	if !bytes.HasPrefix(spilled.Bytes(), r.Output.Head) || !bytes.HasSuffix(spilled.Bytes(), r.Output.Tail) {
		t.Error("what is kept is not the start and the end")
	}
	if s := r.Output.String(); !strings.HasPrefix(s, "1\n2\n") || !strings.HasSuffix(s, "\n200000\nFAILED-HERE\n") || !strings.Contains(s, "\n[... 1238907 bytes left out ...]\n") {
		t.Errorf("%.50s ... %s", s, s[len(s)-50:])
	}
}

// A flood ends at the limit; a line that ends in time but wrote more is told of too.
func TestOutputLimit(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"echo first; yes", "echo first; trap '' TERM; yes & wait", "echo first; head -c 3000000 /dev/zero"} {
		var spilled bytes.Buffer
		cmd := in(t, line)
		cmd.Limit, cmd.Output = 2_000_000, &spilled
		begin := time.Now()
		r := run(t, cmd)
		within(t, 3*time.Second, begin)
		if r.Reason != process.OutputLimit || r.Output.Total != 2_000_000 || spilled.Len() != 2_000_000 || !strings.HasPrefix(r.Output.String(), "first\n") {
			t.Errorf("%s: %s, %d bytes, %d spilled, %.10s", line, r.Reason, r.Output.Total, spilled.Len(), r.Output.Head)
		}
	}
	// A flood after the timeout does not use up the grace.
	cmd := in(t, "trap yes TERM; sleep 100 & wait")
	cmd.Limit, cmd.Timeout, cmd.Grace = 2_000_000, 300*time.Millisecond, 10*time.Second
	begin := time.Now()
	r := run(t, cmd)
	within(t, 4*time.Second, begin)
	if r.Reason != process.Timeout || r.Output.Total != 2_000_000 {
		t.Errorf("%+v", r.Reason)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, io.ErrShortBuffer
	}
	return len(p), nil
}

// A writer that fails, or never returns, is not the end of the process.
func TestBadWriters(t *testing.T) {
	t.Parallel()
	cmd := in(t, "seq 1 50000; exit 6")
	cmd.Output = &failing{after: 1000}
	if r := run(t, cmd); r.ExitCode != 6 || r.Output.Err != io.ErrShortBuffer || r.Output.Total != 288894 {
		t.Errorf("%+v", r.Output.Err)
	}
	pr, pw := io.Pipe()
	defer pr.Close()
	cmd = in(t, "echo one; exit 6")
	cmd.Output = pw
	begin := time.Now()
	r := run(t, cmd)
	within(t, 3*time.Second, begin)
	if r.ExitCode != 6 || r.Output.Err == nil || r.Output.String() != "one\n" {
		t.Errorf("%+v", r)
	}
}

// The live view has the output when it is written, not at the end.
func TestLiveOutput(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	cmd := in(t, "echo now; read answer; echo got $answer")
	inr, inw := io.Pipe()
	cmd.Stdin, cmd.Output = inr, pw
	p, err := process.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, _ := pr.Read(buf)
	if string(buf[:n]) != "now\n" {
		t.Errorf("%q", buf[:n])
	}
	inw.Write([]byte("this\n"))
	n, _ = pr.Read(buf)
	if string(buf[:n]) != "got this\n" {
		t.Errorf("%q", buf[:n])
	}
	inw.Close()
	if r := p.Wait(); r.Output.String() != "now\ngot this\n" {
		t.Errorf("%+v", r)
	}
}

// The process has its three streams and nothing else that the caller has open.
func TestOpenFiles(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/etc/passwd") // as a parent of ours can leave one: not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	caller := exec.Command(self)
	caller.ExtraFiles = []*os.File{f, f, f, f, f, f, f, f}
	caller.Env = append(os.Environ(), "PROCESS_TEST_ROLE=caller", "DIR="+t.TempDir(), "LINE=ls /proc/$$/fd; readlink /proc/$$/fd/0")
	out, err := caller.CombinedOutput()
	if got := string(out); err != nil || got != "0\n1\n2\n/dev/null\n" {
		t.Errorf("%v: %s", err, got)
	}
}

// The parent of the process survives what a process may say to it.
func TestSignalsToTheParent(t *testing.T) {
	t.Parallel()
	r := run(t, in(t, "sleep 0.1; for s in HUP INT QUIT TERM USR1 USR2 ALRM PIPE IO CHLD TSTP; do kill -$s $PPID || echo $s; done; sleep 0.1; echo lives"))
	if r.Output.String() != "lives\n" || r.Reason != process.Exited {
		t.Errorf("%s: %s", r.Reason, r.Output)
	}
	// Those that the parent ignores are not ignored by the process.
	r = run(t, in(t, "kill -HUP $$; echo lives"))
	if r.Signal != "SIGHUP" || r.ExitCode != 129 {
		t.Errorf("%+v", r)
	}
}

// Thousands of short processes, half of them orphans, are reaped while the call runs.
func TestShortProcesses(t *testing.T) {
	t.Parallel()
	n := 300
	if os.Getenv("CI") != "" {
		n = 10_000 / slow
	}
	cmd := in(t, fmt.Sprintf("for ((i = 0; i < %d; i += 2)); do (: &); done; sleep 0.1\n", n)+
		`cat /proc/[0-9]*/stat 2>/dev/null | awk -v parent=$PPID '$3 == "Z" && $4 == parent { n++ } END { print n + 0 }'`)
	cmd.Timeout = 3 * time.Minute
	r := run(t, cmd)
	zombies, err := strconv.Atoi(strings.TrimSpace(r.Output.String()))
	// Half of them would be zombies if nobody reaped; the helper does so every few milliseconds.
	if err != nil || zombies > n/4 || r.Reason != process.Exited || r.Background != 0 {
		t.Errorf("%+v: %s", r, r.Output)
	}
}

// Concurrent runs that are canceled at any moment are each answered in full.
func TestConcurrentCancels(t *testing.T) {
	t.Parallel()
	m := newMark(t)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := in(t, "echo begin; sleep "+m.seconds+" & setsid sleep "+m.seconds)
			cmd.Grace = 50 * time.Millisecond
			time.AfterFunc(time.Duration(i)*5*time.Millisecond, cancel)
			r, err := process.Run(ctx, cmd)
			if err == nil && r.Reason != process.Canceled {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	if left := m.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func init() {
	// Many runs leave no goroutine, descriptor, temporary file or zombie. In a process
	// of its own, where nothing else runs.
	roles["many runs"] = func() int {
		count := func() (fds, goroutines, files, children int) {
			d, _ := os.ReadDir("/proc/self/fd")
			f, _ := os.ReadDir(os.TempDir())
			c, _ := os.ReadFile("/proc/thread-self/children")
			return len(d), runtime.NumGoroutine(), len(f), len(strings.Fields(string(c)))
		}
		cmd := process.Command{Args: process.Shell("echo $TMPDIR; mkdir $TMPDIR/a; touch $TMPDIR/a/b; chmod 0 $TMPDIR/a; sleep 100 & exit 0"), Env: process.Environment{Workspace: os.Getenv("DIR")}, Sandbox: none}
		process.Run(context.Background(), cmd)
		fds, goroutines, files, children := count()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 50 {
					c := cmd
					if i%5 == 1 {
						c.Args = []string{"no-such-program"}
					}
					if i%5 == 2 {
						c.Stdin, c.Split = strings.NewReader("x"), true
					}
					process.Run(context.Background(), c)
				}
			})
		}
		wg.Wait()
		time.Sleep(50 * time.Millisecond)
		fds2, goroutines2, files2, children2 := count()
		if fds2 > fds || goroutines2 > goroutines || files2 > files || children2 > children {
			fmt.Printf("before: %d descriptors, %d goroutines, %d temporary files, %d children; after 200 runs: %d, %d, %d, %d\n",
				fds, goroutines, files, children, fds2, goroutines2, files2, children2)
			return 1
		}
		return 0
	}
}

func TestManyRuns(t *testing.T) {
	t.Parallel()
	out, err := role(t, "many runs").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A program that does not call Main is told which line to add.
func TestWithoutMain(t *testing.T) {
	t.Parallel()
	out, err := role(t, "no main").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "process.Main()") {
		t.Errorf("%v: %s", err, out)
	}
}

func role(t *testing.T, name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE="+name, "DIR="+t.TempDir(), "TMPDIR="+t.TempDir())
	return cmd
}
