package builtin

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/process"
)

// In one turn a call that names a job comes after the one that starts it, and no
// command that runs holds it up.
func TestJobOrder(t *testing.T) {
	s := newShop(t)
	s.gate.Middleware = []callgate.Middleware{func(x *callgate.Execution, next callgate.Handler) callgate.Handler {
		return func(ctx context.Context, call callgate.Call) (callgate.Result, error) {
			if call.Name == "bash" {
				time.Sleep(300 * time.Millisecond) // whoever does not wait for it comes first
			}
			return next(ctx, call)
		}
	}}
	results := s.dispatch("s",
		propose("bash", "command", "echo hello; sleep 100", "background", true),
		propose("job_output", "job_id", "job_1", "wait_ms", 20_000),
		propose("job_kill", "job_id", "job_1"))
	for _, r := range results {
		s.ok(r)
	}
	s.says(results[1], "is running", "hello")
	s.start("sleep 100")
	s.turn++
	first := ""
	for _, r := range s.gate.Stream(t.Context(), s.tools, callgate.Turn{Session: "s", Number: s.turn, Calls: []callgate.Call{
		propose("bash", "command", "sleep 1"), propose("job_output", "job_id", "job_2")}}) {
		if first == "" {
			first = r.Tool
		}
	}
	if first != "job_output" {
		t.Errorf("%s was answered first", first)
	}
}

// A turn that is canceled takes the jobs with it that it started, and no others.
func TestJobsOfACanceledTurn(t *testing.T) {
	s := newShop(t)
	earlier := s.start("sleep 100")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.turn++
	for i := range s.gate.Stream(ctx, s.tools, callgate.Turn{Session: "s", Number: s.turn, Calls: []callgate.Call{
		propose("bash", "command", "sleep 100", "background", true), propose("bash", "command", "sleep 50")}}) {
		if i == 0 {
			cancel()
		}
	}
	if text, a := s.look("job_output", "job_2", "wait_ms", 20_000); a.Status != "turn_canceled" || !strings.Contains(text, "turn that started it was canceled") {
		t.Errorf("%+v\n%s", a, text)
	}
	if _, a := s.look("job_output", earlier); a.Status != "running" {
		t.Errorf("the job of an earlier turn: %+v", a)
	}
}

// blind is a context that ends as soon as a job runs.
type blind struct {
	context.Context
	jobs *Jobs
}

func (c blind) Err() error {
	if len(c.jobs.Running()) > 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// A job whose start nobody is told of does not run on.
func TestJobWithoutAnswer(t *testing.T) {
	s := newShop(t)
	s.gate.Middleware = []callgate.Middleware{func(x *callgate.Execution, next callgate.Handler) callgate.Handler {
		return func(ctx context.Context, call callgate.Call) (callgate.Result, error) {
			return next(blind{ctx, s.programs.Jobs}, call)
		}
	}}
	s.fails(s.call("bash", "command", "sleep 100", "background", true), callgate.Canceled, "ended again")
	if left := s.programs.Jobs.Running(); len(left) > 0 {
		t.Error(left)
	}
}

// No more than so many run at once; the refusal says which do, and one that has ended
// makes room.
func TestJobsAtOnce(t *testing.T) {
	s := newShop(t)
	var wg sync.WaitGroup
	results := make([]callgate.Result, DefaultMaxJobs)
	for i := range results {
		s.turn++
		turn := s.turn
		wg.Go(func() {
			results[i] = s.gate.Dispatch(t.Context(), s.tools, callgate.Turn{Session: "s", Number: turn, Calls: []callgate.Call{propose("bash", "command", "sleep 100", "background", true)}})[0]
		})
	}
	wg.Wait()
	names := map[string]bool{}
	for _, r := range results {
		s.ok(r)
		names[structured[jobStart](t, r).JobID] = true
	}
	if len(names) != 16 {
		t.Fatalf("%d names for 16 jobs", len(names))
	}
	r := s.call("bash", "command", "touch started", "background", true)
	s.fails(r, callgate.ExecutionError, "16 background jobs run already", "job_1 (sleep 100)", "job_16 (sleep 100)", "job_kill")
	if r.State != callgate.NotStarted {
		t.Errorf("state %s", r.State)
	}
	s.fails(s.callAs("other", "bash", "command", "touch started", "background", true), callgate.ExecutionError, "16 of other sessions")
	if strings.Contains(s.callAs("other", "bash", "command", "true", "background", true).ModelText(), "sleep") {
		t.Error("another session is told what runs")
	}
	s.look("job_kill", "job_5")
	if id := s.start("sleep 100"); names[id] {
		t.Errorf("%s is the name of two", id)
	}
	begin := time.Now()
	s.programs.Jobs.Close()
	if left := s.programs.Jobs.Running(); len(left) > 0 || time.Since(begin) > 15*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), left)
	}
	s.fails(s.call("bash", "command", "touch started", "background", true), callgate.ExecutionError, "session has ended")
	if _, err := os.Stat(s.path("started")); err == nil {
		t.Error("what was refused was started")
	}
}

// Close returns when nothing is left, not when it has told the jobs to end.
func TestJobsClose(t *testing.T) {
	s := newShop(t)
	s.start("trap 'sleep 0.2; touch ended; exit' TERM; touch begun; while :; do sleep 0.02; done")
	until(t, "begun", func() bool { _, err := os.Stat(s.path("begun")); return err == nil })
	s.programs.Jobs.Close()
	if _, err := os.Stat(s.path("ended")); err != nil {
		t.Error("Close did not wait for the end")
	}
}

// A session neither sees nor ends the jobs of another.
func TestJobsOfSessions(t *testing.T) {
	s := newShop(t)
	s.ok(s.callAs("a", "bash", "command", "echo of a; sleep 100", "background", true))
	s.ok(s.callAs("b", "bash", "command", "echo of b; sleep 100", "background", true))
	for _, tool := range []string{"job_output", "job_kill"} {
		r := s.callAs("b", tool, "job_id", "job_1")
		s.fails(r, callgate.ExecutionError, `no job "job_1"`, "job_2 (echo of b")
		if strings.Contains(r.ModelText(), "of a") {
			t.Error(r.ModelText())
		}
	}
	s.says(s.callAs("a", "job_output", "job_id", "job_1", "wait_ms", 20_000), "is running", "of a")
	s.programs.Jobs.End("a")
	s.fails(s.callAs("a", "job_output", "job_id", "job_1"), callgate.ExecutionError, "none is running")
	s.says(s.callAs("b", "job_output", "job_id", "job_2"), "is running")
}

// What has ended can be read, but not without end; an unknown name says which there
// are.
func TestJobNames(t *testing.T) {
	s := newShop(t)
	for range jobsKept + 2 { // that ended before they could print
		j := &job{session: "s", done: make(chan struct{})}
		j.ctx, j.cancel = context.WithCancelCause(t.Context())
		if err := s.programs.Jobs.admit(j); err != nil {
			t.Fatal(err)
		}
		j.res.Reason = process.Exited
		s.programs.Jobs.settle(j, true)
	}
	s.says(s.call("job_output", "job_id", "job_3"), "has ended", "(no output)")
	s.fails(s.call("job_output", "job_id", "job_2"), callgate.ExecutionError, "the last 64 are kept", "none is running")
	id := s.start("sleep 100")
	s.fails(s.call("job_output", "job_id", "job67"), callgate.ExecutionError, `no job "job67"`, "did you mean", id, "running: job_67 (sleep 100)")
	s.fails(s.call("job_kill", "job_id", "job_99"), callgate.ExecutionError, "running: job_67 (sleep 100)")
}

// Where there is no place for jobs, the model is not told of them.
func TestBashWithoutJobs(t *testing.T) {
	s := newShop(t)
	s.programs.Jobs = nil
	bash, err := s.programs.Bash(s.files.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	var r callgate.Registry
	if err := r.Register(bash); err != nil {
		t.Fatal(err)
	}
	s.tools = r.Catalog()
	if strings.Contains(string(bash.InputSchema)+bash.Description, "background\"") || strings.Contains(bash.Description, "job") {
		t.Errorf("%s\n%s", bash.Description, bash.InputSchema)
	}
	s.fails(s.call("bash", "command", "true", "background", true), callgate.InvalidArguments, "/background")
	s.ok(s.call("bash", "command", "true"))
}

func TestJobSpecs(t *testing.T) {
	s := newShop(t)
	for spec := range s.tools.All() {
		if !slices.Contains([]string{"bash", "job_output", "job_kill"}, spec.Name) {
			continue
		}
		first, _, _ := strings.Cut(spec.Description, "\n")
		if len(first) == 0 || len(first) > 80 || !strings.HasSuffix(first, ".") || len(spec.Description) > 900 {
			t.Errorf("%s: %d bytes, first line %q", spec.Name, len(spec.Description), first)
		}
		want := callgate.Idempotent
		if spec.Name == "bash" {
			want = callgate.Once
		}
		if !spec.Annotations.OpenWorld() || spec.Annotations.Effect() != want || spec.Annotations.Destructive() != (spec.Name != "job_output") {
			t.Errorf("%s: %+v", spec.Name, spec.Annotations)
		}
	}
}

// What a job has printed and nobody has asked for takes no room after the session.
func TestJobsLeaveNoFiles(t *testing.T) {
	s := newShop(t)
	dir := t.TempDir()
	store, err := artifact.Open(dir, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s.programs.Artifacts = store
	count := func() int { files, _ := filepath.Glob(filepath.Join(dir, "*")); return len(files) }
	idle := count()
	s.start("seq 1 60000")
	s.start("seq 1 60000; touch printed; sleep 100")
	until(t, "printed", func() bool {
		_, err := os.Stat(s.path("printed"))
		return err == nil && len(s.programs.Jobs.Running()) == 1
	})
	if n := count(); n != idle+2 {
		t.Fatalf("%d files while there are two long outputs, %d before", n, idle)
	}
	s.programs.Jobs.Close()
	if n := count(); n != idle {
		t.Errorf("%d files are left, %d were there before", n, idle)
	}
}
