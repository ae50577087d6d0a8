package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/provider/scripted"
	"github.com/callgate/callgate/workspace"
)

// A Runner tries the tasks of a suite. Its fields must not be changed while it
// runs.
type Runner struct {
	// Open makes the gate of one trial. It is called once for each of them, by
	// several goroutines if Parallel says so.
	Open func(ctx context.Context, p Place) (*Gate, error)
	// Model returns the model of one trial, a fresh one if it remembers anything.
	// Nil means the script that the task names.
	Model func(t *Task) (llm.Model, error)
	// Dir is an existing directory, in which each trial has one of its own.
	Dir string
	// Sandbox is what programs may touch, those of exit_zero verifiers too, which run
	// on what a model left. The zero one is the cautious choice, and an error where
	// this machine can start no sandbox.
	Sandbox process.Sandbox
	// Keep leaves what trials wrote in Dir.
	Keep bool
	// Trials is how often each task is tried; 0 means as often as it says. A k, or
	// a number of passes, that is beyond it counts as this number. It is at most
	// [MaxTrials].
	Trials int
	// Parallel is how many trials run at once; 0 means one. What runs beside a
	// trial makes it slower, which its duration tells.
	Parallel int
	// Tried is told of each trial that was made, with how many of all were; nil
	// tells nobody. It is called by one goroutine at a time, and the next trials
	// wait for it.
	Tried func(t *Task, tr Trial, made, all int)
}

// MaxTrials bounds the trials of a task, as its file does.
const MaxTrials = 10000

// A Place is where a trial happens.
type Place struct {
	Task      *Task
	Trial     int    // from 1
	Dir       string // of this trial alone, outside of the workspace; it is removed afterwards
	Workspace *workspace.Workspace
	Caches    string // for [process.Environment.Caches]; below Dir, not made yet
	Sandbox   process.Sandbox
}

// A Gate is what a trial's calls go through.
type Gate struct {
	Dispatcher *callgate.Dispatcher
	Catalog    *callgate.Catalog
	Session    string
	Close      func() // called when the trial is over; may be nil
}

// Run tries the tasks and judges them. First each task's verifiers are run on its
// untouched workspace: one that passes without any work is reported as an error and
// not tried. When ctx ends, whatever runs ends, the error is that of ctx, and the
// report has the trials that were over by then; tasks with others left are
// [Incomplete]. With any other error there is no report. Nothing is left in Dir
// unless Keep is set.
func (r *Runner) Run(ctx context.Context, s *Suite) (*Report, error) {
	if r.Trials < 0 || r.Trials > MaxTrials {
		return nil, fmt.Errorf("eval: %d trials of a task; use a number from 1 to %d, or 0 for what the task says", r.Trials, MaxTrials)
	}
	report := &Report{Suite: s.Path, Skipped: []string{}}
	for _, t := range s.Skipped {
		report.Skipped = append(report.Skipped, t.Name)
	}
	report.Tasks = make([]TaskReport, len(s.Tasks))
	for i, t := range s.Tasks {
		n := r.trials(t)
		rep := &report.Tasks[i]
		rep.Name, rep.File, rep.Results, rep.planned = t.Name, t.path, []Trial{}, n
		rep.Needed, rep.K = min(n, t.Pass), min(n, t.K)
		if t.Pass == 0 {
			rep.Needed = n
		}
		if t.K == 0 {
			rep.K = n
		}
	}
	each(ctx, r.Parallel, slices.All(s.Tasks), func(i int, t *Task) {
		err := r.untouched(ctx, t)
		if err != nil && ctx.Err() == nil {
			report.Tasks[i].Error = err.Error()
		}
	})
	all := 0
	for _, t := range report.Tasks {
		if t.Error == "" {
			all += t.planned
		}
	}
	var mu sync.Mutex // of what follows
	made := 0
	each(ctx, r.Parallel, jobs(report.Tasks), func(i, number int) {
		tr := r.trial(ctx, s.Tasks[i], number)
		if ctx.Err() != nil {
			return // it may have ended because of that
		}
		mu.Lock()
		defer mu.Unlock()
		report.Tasks[i].Results = append(report.Tasks[i].Results, tr)
		if made++; r.Tried != nil {
			r.Tried(s.Tasks[i], tr, made, all)
		}
	})
	for _, t := range report.Tasks {
		slices.SortFunc(t.Results, func(a, b Trial) int { return a.Number - b.Number })
	}
	if report.finish(); report.Status == Incomplete {
		return report, ctx.Err()
	}
	return report, nil
}

func (r *Runner) trials(t *Task) int {
	if r.Trials > 0 {
		return r.Trials
	}
	return max(t.Trials, 1)
}

// jobs yields the trials to make, as places of tasks and numbers of trials: all of
// the tasks that have no error. They are not all there at once.
func jobs(tasks []TaskReport) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := range tasks {
			for n := 1; tasks[i].Error == "" && n <= tasks[i].planned; n++ {
				if !yield(i, n) {
					return
				}
			}
		}
	}
}

// each calls do with all of the jobs, in their order and as many at once as
// parallel says, until ctx ends.
func each[T any](ctx context.Context, parallel int, all iter.Seq2[int, T], do func(int, T)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(parallel, 1))
	for i, v := range all {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i, v)
		})
	}
	wg.Wait()
}

// at calls do with a fresh copy of the task's workspace, and removes it afterwards.
// It returns the name of what it kept.
func (r *Runner) at(t *Task, name string, do func(Place) error) (kept string, err error) {
	dir := filepath.Join(r.Dir, t.Name+"-"+name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	root := filepath.Join(dir, "workspace")
	if r.Keep {
		kept = root
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err := t.start.write(root); err != nil {
		return kept, err
	}
	ws, err := workspace.Open(root)
	if err != nil {
		return kept, err
	}
	defer ws.Close()
	return kept, do(Place{Task: t, Dir: dir, Workspace: ws, Caches: filepath.Join(dir, "caches"), Sandbox: r.Sandbox})
}

// scene returns what verifiers see of a place.
func (p Place) scene(answer string) scene {
	env := process.Environment{Workspace: p.Workspace.Dir(), Caches: p.Caches}
	return scene{ws: p.Workspace, env: env, box: p.Sandbox, answer: answer}
}

// untouched returns an error if the task passes before anything was done: if its
// verifiers accept what a trial starts with and an empty answer, and no call is a
// run that it expects.
func (r *Runner) untouched(ctx context.Context, t *Task) error {
	_, err := r.at(t, "untouched", func(p Place) error {
		failure, err := t.verify(ctx, p.scene(""))
		if err != nil || failure != nil || t.expected(new(Trial)) != nil {
			return err
		}
		return fmt.Errorf("%s: the task passes without any work, so it says nothing about a model; add a verifier that fails on the untouched workspace", t.Where("/verify"))
	})
	return err
}

// trial tries a task once.
func (r *Runner) trial(ctx context.Context, t *Task, number int) Trial {
	tr := Trial{Number: number}
	tr.count(nil, llm.Usage{})
	kept, err := r.at(t, fmt.Sprint(number), func(p Place) (err error) {
		p.Trial = number
		tr.Failure, err = r.attempt(ctx, &tr, p)
		return err
	})
	tr.Workspace = kept
	switch {
	case err != nil:
		tr.Status, tr.Error = Errors, err.Error()
	case tr.Failure != nil:
		tr.Status = Failed
	default:
		tr.Status = Passed
	}
	return tr
}

// attempt runs the agent and judges what came of it. An error means that the
// trial could not be done.
func (r *Runner) attempt(ctx context.Context, tr *Trial, p Place) (*Failure, error) {
	t := p.Task
	model, done, err := r.model(t)
	if err != nil {
		return nil, err
	}
	gate, err := r.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	if gate.Close != nil {
		defer gate.Close()
	}
	a := agent.Agent{
		Model: model, Tools: func() *callgate.Catalog { return gate.Catalog }, Gate: gate.Dispatcher,
		System: t.System, Session: gate.Session, MaxTurns: t.MaxTurns,
	}
	limited, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	begin := time.Now()
	out, err := a.Run(limited, []llm.Message{llm.UserText(t.Prompt)})
	tr.DurationMS = float64(time.Since(begin)) / float64(time.Millisecond)
	tr.Answer = out.Text
	tr.count(out.Messages, out.Usage)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fail := func(kind, at, format string, args ...any) (*Failure, error) {
		return &Failure{Kind: kind, Where: t.Where(at), Message: fmt.Sprintf(format, args...)}, nil
	}
	switch {
	case err != nil:
		return fail("model", "/model", "%v", err)
	case out.Reason == agent.Canceled:
		return fail("timeout", "/timeout", "the model was not done after %v", t.timeout)
	case out.Reason == agent.MaxTurns:
		return fail("turns", "/maxTurns", "the model still proposed calls in turn %d, its last", tr.Turns)
	case out.Reason != agent.FinalAnswer:
		return fail("model", "/model", "the run ended with %s instead of an answer", out.Reason)
	}
	if err := done(); err != nil {
		return fail("model", "/model", "%v", err)
	}
	failure, err := t.verify(ctx, p.scene(tr.Answer))
	if err != nil || failure != nil {
		return failure, err
	}
	return t.expected(tr), nil
}

// model returns the model of a trial, and what is to be asked when it is done.
func (r *Runner) model(t *Task) (m llm.Model, done func() error, err error) {
	if r.Model != nil {
		m, err = r.Model(t)
		return m, func() error { return nil }, err
	}
	if t.steps == nil {
		return nil, nil, fmt.Errorf("%s: the task names no script, and there is no other model; add model: {script: FILE}", t.Where("/model"))
	}
	script := &scripted.Model{Steps: t.steps}
	return script, script.Done, nil
}
