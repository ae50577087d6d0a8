package builtin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/process"
)

const (
	// DefaultMaxJobs is how many background jobs run at once if [Jobs.Max] is 0.
	DefaultMaxJobs = 16
	// jobsKept is how many jobs that have ended are kept for who reads their output.
	jobsKept = 64
)

// Jobs has the background jobs that bash starts. Give it to [Programs.Jobs], register
// its Tools beside bash, and Close it when the session ends. The zero value is ready
// to use; it must not be copied, and is safe for concurrent use.
//
// A job runs until it has ended by itself or its time limit has passed, job_kill ends
// it, the turn that started it is canceled before all calls of it were answered
// ([callgate.Execution.OnTurnCanceled]), or its session ends. When the process is
// killed, package process sees to the jobs as to every other program: see there. In
// all of these cases, all that the job has started ends with it.
//
// Each job belongs to the session of the call that started it, and calls of another
// session neither see nor end it. Anonymous calls are one session together.
//
// A job runs beside all calls that come after its start and is in no order with them:
// it may change any file of the workspace at any time. What the file tools promise
// against changes by other programs is what holds.
type Jobs struct {
	// Max is how many jobs run at once, those of all sessions together; 0 means
	// DefaultMaxJobs. One more is refused.
	Max int
	// Until is a sentence that tells the model when a job ends at the latest; ""
	// means "It ends with the session."
	Until string

	mu      sync.Mutex
	last    int    // number of the last job
	running []*job // in the order of their start
	ended   []*job // in the order of their end
	closed  bool
}

// After has the names of jobs go on after job_N. It is for a session that is
// resumed, whose history names jobs of a process that is gone: any number that is
// high enough will do, such as that of the session's calls.
func (s *Jobs) After(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, n)
}

// Running names the jobs that have not ended, such as "job_1 (sleep 100)".
func (s *Jobs) Running() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return titles(s.running)
}

// Close ends all jobs and returns when nothing of them is left. No job is started
// afterwards. It may be called any number of times.
func (s *Jobs) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(func(*job) bool { return true })
}

// End ends the jobs of one session, returns when nothing of them is left, and
// forgets their output. It does not keep calls of the session from starting new ones.
func (s *Jobs) End(session string) {
	s.end(func(j *job) bool { return j.session == session })
}

func (s *Jobs) end(of func(*job) bool) {
	s.mu.Lock()
	running := slices.Clone(s.running)
	s.mu.Unlock()
	running = slices.DeleteFunc(running, func(j *job) bool { return !of(j) })
	for _, j := range running {
		j.cancel(errSessionEnded)
	}
	for _, j := range running {
		<-j.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = slices.DeleteFunc(s.ended, func(j *job) bool {
		if of(j) {
			j.log.close()
		}
		return of(j)
	})
}

// start starts cmd as the job j, whose session, command and log are set. On an error
// nothing was started.
func (s *Jobs) start(j *job, cmd process.Command) error {
	j.ctx, j.cancel = context.WithCancelCause(context.Background())
	j.done, j.begin, j.limit = make(chan struct{}), time.Now(), cmd.Timeout
	if err := s.admit(j); err != nil {
		return callgate.NotSent(err)
	}
	p, err := process.Start(j.ctx, cmd)
	if err != nil {
		s.settle(j, false)
		return callgate.NotSent(callgate.Errorf(callgate.ExecutionError, "the job was not started: %w", err))
	}
	go func() {
		j.res = p.Wait()
		s.settle(j, true)
	}()
	return nil
}

// admit gives j its name and its place among the running jobs, if there is one.
func (s *Jobs) admit(j *job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return callgate.Errorf(callgate.ExecutionError, "the session has ended, so no job is started")
	}
	most := s.Max
	if most <= 0 {
		most = DefaultMaxJobs
	}
	if len(s.running) >= most {
		own := titles(s.of(j.session, s.running))
		msg := fmt.Sprintf("%s run already, which is the most; end one with job_kill, or wait for one to end: %s",
			plural(len(s.running), "background job"), strings.Join(own, ", "))
		if n := len(s.running) - len(own); n > 0 {
			msg += fmt.Sprintf(" (%d of other sessions)", n)
		}
		return callgate.Errorf(callgate.ExecutionError, "%s", msg)
	}
	s.last++
	j.id = "job_" + strconv.Itoa(s.last)
	s.running = append(s.running, j)
	return nil
}

// settle notes that j has ended, or never started.
func (s *Jobs) settle(j *job, started bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(r *job) bool { return r == j })
	if started {
		s.ended = append(s.ended, j)
	}
	for len(s.ended) > jobsKept {
		s.ended[0].log.close()
		s.ended = slices.Delete(s.ended, 0, 1)
	}
	close(j.done)
	j.cancel(nil) // frees what hangs on the context; the first cause stays
}

// find returns a job of a session, or an error that names those that there are.
func (s *Jobs) find(session, id string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.of(session, s.running)
	all := append(running[:len(running):len(running)], s.of(session, s.ended)...)
	var ids []string
	for _, j := range all {
		if j.id == id {
			return j, nil
		}
		ids = append(ids, j.id)
	}
	msg := fmt.Sprintf("there is no job %q in this session", id)
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "job_")); err == nil && n > 0 && n <= s.last && id == "job_"+strconv.Itoa(n) {
		msg += fmt.Sprintf("; if there was one, it ended: of those that have ended the last %d are kept, and none when the session is resumed", jobsKept)
	} else if near := closest.Names(id, ids, 3); len(near) > 0 {
		msg += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(running) > 0 {
		msg += "; running: " + strings.Join(titles(running), ", ")
	} else {
		msg += "; none is running"
	}
	return nil, callgate.Errorf(callgate.ExecutionError, "%s", msg)
}

// of returns the jobs of a session among jobs.
func (s *Jobs) of(session string, jobs []*job) (own []*job) {
	for _, j := range jobs {
		if j.session == session {
			own = append(own, j)
		}
	}
	return own
}

func titles(jobs []*job) (names []string) {
	for _, j := range jobs {
		names = append(names, j.title())
	}
	return names
}

// jobKey is the key of every job: a call that starts one writes it, so that calls
// which name a job wait for those before them that may start it.
const jobKey = "job:"

// Tools returns job_output and job_kill, in this order.
//
// job_output shows the output of a program that was allowed to run, and job_kill
// takes back what was allowed: a policy may let who may use bash use both.
func (s *Jobs) Tools() ([]callgate.Tool, error) {
	output, err := s.output()
	if err != nil {
		return nil, err
	}
	kill, err := s.kill()
	if err != nil {
		return nil, err
	}
	return []callgate.Tool{output, kill}, nil
}
