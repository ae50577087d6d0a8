package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
)

// start starts a job and returns its name.
func (s *shop) start(command string, more ...any) string {
	s.t.Helper()
	r := s.call("bash", append([]any{"command", command, "background", true}, more...)...)
	s.ok(r)
	return structured[jobStart](s.t, r).JobID
}

// look calls job_output or job_kill and returns the text and the typed form.
func (s *shop) look(name, id string, args ...any) (string, jobAnswer) {
	s.t.Helper()
	r := s.call(name, append([]any{"job_id", id}, args...)...)
	return s.ok(r), structured[jobAnswer](s.t, r)
}

// until waits for something that happens soon.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("after 20 s not yet: %s", what)
		}
	}
}

// A job from its start to what is known of it after its end.
func TestJob(t *testing.T) {
	s := newShop(t)
	r := s.call("bash", "command", "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 3", "background", true)
	s.says(r, "job_1", "job_output", "job_kill", "ends with the session")
	if got := structured[jobStart](t, r); got != (jobStart{"job_1", "running"}) {
		t.Fatalf("%+v", got)
	}
	text, a := s.look("job_output", "job_1", "wait_ms", 20_000)
	if a.Status != "running" || a.ExitCode != nil || !strings.HasPrefix(text, "job_1 is running, for ") || !strings.Contains(text, "\none\n") || strings.Contains(text, "at most") {
		t.Fatalf("%+v\n%s", a, text)
	}
	text, a = s.look("job_output", "job_1")
	if !strings.Contains(text, "(nothing new)") || a.Offset != 4 || a.NextOffset != 4 || strings.Contains(text, "one") {
		t.Fatalf("%+v\n%s", a, text)
	}
	s.put("go", "")
	until(t, "its end", func() bool { return len(s.programs.Jobs.Running()) == 0 })
	text, a = s.look("job_output", "job_1")
	if a.Status != "exited" || a.ExitCode == nil || *a.ExitCode != 3 || a.Bytes != 8 || strings.Contains(text, "one") || !strings.Contains(text, "\ntwo\n") || !strings.Contains(text, "exit code: 3") {
		t.Fatalf("%+v\n%s", a, text)
	}
	for args, want := range map[[2]any]string{{"offset", 0}: "\none\ntwo\n", {"offset", 4}: "\ntwo\n", {"offset", 8}: "(nothing new)"} {
		if text, _ := s.look("job_output", "job_1", args[0], args[1]); !strings.Contains(text, want) {
			t.Errorf("offset %v:\n%s", args[1], text)
		}
	}
	if text, a := s.look("job_output", "job_1", "offset", 0, "tail", 1); strings.Contains(text, "one") || !strings.Contains(text, "two") || a.LeftOut != 4 {
		t.Errorf("%+v\n%s", a, text)
	}
	s.fails(s.call("job_output", "job_id", "job_1", "offset", 9), callgate.ExecutionError, "past the end", "8 bytes")
	if text, a := s.look("job_kill", "job_1"); a.Status != "exited" || *a.ExitCode != 3 || !strings.Contains(text, "had ended before") {
		t.Errorf("%+v\n%s", a, text)
	}
	if id := s.start("true"); id != "job_2" {
		t.Errorf("the second job is %s", id)
	}
	s.programs.Jobs.After(1)
	s.programs.Jobs.After(9)
	if id := s.start("true"); id != "job_10" {
		t.Errorf("the first job of a resumed session is %s", id)
	}
}

// job_kill ends a job with all that it started, and shows what was not seen.
func TestJobKill(t *testing.T) {
	s := newShop(t)
	id := s.start("trap 'echo last words; exit 7' TERM; setsid sh -c 'sleep 1; touch late' & echo begun; touch begun; while :; do sleep 0.02; done")
	until(t, "begun", func() bool { _, err := os.Stat(s.path("begun")); return err == nil })
	text, a := s.look("job_kill", id)
	if a.Status != "killed" || *a.ExitCode != 7 || !strings.Contains(text, "begun\n") || !strings.Contains(text, "last words\n") || !strings.Contains(text, "job_kill") {
		t.Errorf("%+v\n%s", a, text)
	}
	if text, a := s.look("job_kill", id); a.Status != "killed" || !strings.Contains(text, "had ended before") || strings.Contains(text, "begun") {
		t.Errorf("again: %+v\n%s", a, text)
	}
	stubborn := s.start("trap '' TERM; touch stubborn; while :; do sleep 0.02; done")
	until(t, "stubborn", func() bool { _, err := os.Stat(s.path("stubborn")); return err == nil })
	if _, a := s.look("job_kill", stubborn); a.Signal != "SIGKILL" {
		t.Errorf("%+v", a)
	}
	time.Sleep(1200 * time.Millisecond)
	if _, err := os.Stat(s.path("late")); err == nil {
		t.Error("what it started lived on")
	}
}

// Why else a job ends.
func TestJobLimits(t *testing.T) {
	s := newShop(t)
	id := s.start("echo slow; sleep 100", "timeout_ms", 1500)
	if text, _ := s.look("job_output", id); !strings.Contains(text, "of at most 1.5s") {
		t.Errorf("%s", text)
	}
	until(t, "the time limit", func() bool { _, a := s.look("job_output", id); return a.Status != "running" })
	if text, a := s.look("job_output", id, "offset", 0); a.Status != "timeout" || !strings.Contains(text, "time limit") || !strings.Contains(text, "slow") {
		t.Errorf("%+v\n%s", a, text)
	}
	id = s.start("yes")
	until(t, "the limit of output", func() bool { _, a := s.look("job_output", id); return a.Status != "running" })
	if text, a := s.look("job_output", id); a.Status != "output_limit" || a.Bytes != outputLimit || a.Artifact == "" {
		t.Errorf("%+v\n%s", a, text)
	}
}

// Of much output the start and the end are shown; the rest is found where the
// answer says, while the job runs and after its end.
func TestJobLongOutput(t *testing.T) {
	s := newShop(t)
	id := s.start("seq 1 60000; touch printed; while [ ! -e go ]; do sleep 0.02; done")
	until(t, "printed", func() bool { _, err := os.Stat(s.path("printed")); return err == nil })
	time.Sleep(100 * time.Millisecond) // for the last of it to come through the pipe
	_, all := s.look("job_output", id, "tail", 1)
	text, a := s.look("job_output", id, "offset", 0)
	if a.NextOffset < shownTail || a.NextOffset >= all.Bytes || a.LeftOut > 0 || !strings.Contains(text, fmt.Sprintf("offset=%d goes on", a.NextOffset)) || !strings.Contains(text, "\n1\n2\n") {
		t.Errorf("%+v\n%.300s", a, text)
	}
	second := s.start("seq 1 60000; touch second; sleep 100")
	until(t, "second", func() bool { _, err := os.Stat(s.path("second")); return err == nil })
	time.Sleep(100 * time.Millisecond) // for the last of it to come through the pipe
	text, b := s.look("job_output", second)
	if b.LeftOut == 0 || !strings.Contains(text, "\n1\n2\n") || !strings.Contains(text, "59999\n60000") || !strings.Contains(text, "left out") {
		t.Fatalf("%+v\n%.300s", b, text)
	}
	var at int64
	if _, after, ok := strings.Cut(text, "offset="); !ok {
		t.Fatalf("%.300s", text)
	} else if _, err := fmt.Sscan(after, &at); err != nil {
		t.Fatal(err)
	}
	middle, _ := s.look("job_output", second, "offset", at)
	head, _, _ := strings.Cut(text, "\n[... ")
	last := head[strings.LastIndexByte(head, '\n')+1:]
	var n int
	fmt.Sscan(last, &n)
	if !strings.Contains(middle, fmt.Sprintf("\n%d\n%d\n", n+1, n+2)) {
		t.Errorf("after %s comes\n%.300s", last, middle)
	}
	s.put("go", "")
	until(t, "its end", func() bool { return len(s.programs.Jobs.Running()) == 1 })
	r := s.call("job_output", "job_id", id)
	a = structured[jobAnswer](t, r)
	if a.Status != "exited" || a.Artifact == "" || r.Artifact != a.Artifact {
		t.Fatalf("%+v", a)
	}
	s.says(s.call("read_file", "path", a.Artifact, "offset", 30_000, "limit", 1), "30000")
}

// A call whose first answer was lost shows the same again.
func TestJobOutputAgain(t *testing.T) {
	s := newShop(t)
	lost := true
	s.gate.Middleware = []callgate.Middleware{func(x *callgate.Execution, next callgate.Handler) callgate.Handler {
		return func(ctx context.Context, call callgate.Call) (callgate.Result, error) {
			r, err := next(ctx, call)
			if call.Name == "job_output" && lost {
				lost = false
				r, err = next(ctx, call)
			}
			return r, err
		}
	}}
	id := s.start("echo once")
	until(t, "its end", func() bool { return len(s.programs.Jobs.Running()) == 0 })
	if text, _ := s.look("job_output", id); !strings.Contains(text, "once") {
		t.Error(text)
	}
	if text, _ := s.look("job_output", id); strings.Contains(text, "once") {
		t.Error(text)
	}
}

// An answer that waits and is canceled has shown nothing.
func TestJobOutputCanceled(t *testing.T) {
	s := newShop(t)
	id := s.start("while [ ! -e go ]; do sleep 0.02; done; echo kept; sleep 100")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r := s.gate.Dispatch(ctx, s.tools, callgate.Turn{Session: "s", Number: 900, Calls: []callgate.Call{propose("job_output", "job_id", id, "wait_ms", 60_000)}})[0]
	if !errors.Is(r.Err(), callgate.Canceled) {
		t.Error(r)
	}
	s.put("go", "")
	s.turn = 1000
	if text, _ := s.look("job_output", id, "wait_ms", 20_000); !strings.Contains(text, "kept") {
		t.Error(text)
	}
}

// A job sees as little of the caller as any program, and its output stands in a fence.
func TestJobCanary(t *testing.T) {
	s := newShop(t)
	id := s.start("env; printenv CANARY_API_KEY; cat /proc/self/environ")
	until(t, "its end", func() bool { return len(s.programs.Jobs.Running()) == 0 })
	r := s.call("job_output", "job_id", id)
	if text := s.ok(r); !strings.Contains(text, "TERM=dumb") || strings.Contains(text, "s3cr3t") || r.Fence == "" {
		t.Error(text)
	}
	if level := structured[jobAnswer](t, r).Sandbox; level == "" || level == string(process.None) {
		t.Errorf("it ran in the sandbox %q", level)
	}
}
