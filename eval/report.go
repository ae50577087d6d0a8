package eval

import (
	"slices"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

// A Status is how a trial, a task or a suite ended.
type Status string

const (
	Passed Status = "passed"
	Failed Status = "failed" // the model did not solve it
	Errors Status = "error"  // the task or the machine is at fault, not the model
	// Incomplete is a task, or a suite, that was interrupted before its last trial.
	Incomplete Status = "incomplete"
)

// A Report is what came of a suite. Its JSON form is described in docs/eval.md.
// Tasks are in the order of the suite, trials in that of their numbers, whatever
// ran at once.
type Report struct {
	Suite   string       `json:"suite"`
	Status  Status       `json:"status"` // passed if every task passed
	Tasks   []TaskReport `json:"tasks"`
	Skipped []string     `json:"skipped"` // tasks that were not selected
	Totals  Totals       `json:"totals"`
}

// A TaskReport is what came of one task.
type TaskReport struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Status Status `json:"status"`
	Error  string `json:"error,omitempty"` // why it was not tried
	Needed int    `json:"needed"`          // trials that must pass
	K      int    `json:"k"`               // of PassAtK
	Summary
	Results []Trial `json:"results"`
	planned int     // trials to make
}

// Totals are the figures of a whole suite: sums over tasks, percentiles over
// all trials, and the means over tasks of PassAt1 and PassAtK.
type Totals struct {
	Tasks      int `json:"tasks"`
	Passed     int `json:"passed"`
	Failed     int `json:"failed"`
	Errors     int `json:"errors"`
	Incomplete int `json:"incomplete"`
	Summary
}

// A Summary is the figures of some trials.
type Summary struct {
	Trials   int                   `json:"trials"`
	Passes   int                   `json:"passes"`
	PassAt1  float64               `json:"passAt1"` // see [PassAt]
	PassAtK  float64               `json:"passAtK"`
	P50MS    float64               `json:"p50Ms"` // of the trials' durations, by nearest rank
	P95MS    float64               `json:"p95Ms"`
	Usage    llm.Usage             `json:"usage"`
	Calls    int                   `json:"calls"`
	Refusals map[callgate.Code]int `json:"refusals"` // calls that did not start, by code
	Failures map[callgate.Code]int `json:"failures"` // calls that started and failed, by code
}

// A Trial is one attempt at a task.
type Trial struct {
	Number     int                   `json:"trial"` // from 1
	Status     Status                `json:"status"`
	Failure    *Failure              `json:"failure,omitempty"` // the first thing that was not met
	Error      string                `json:"error,omitempty"`
	DurationMS float64               `json:"durationMs"` // from the prompt to the end of the model's work
	Turns      int                   `json:"turns"`
	Calls      int                   `json:"calls"`
	Refusals   map[callgate.Code]int `json:"refusals"`
	Failures   map[callgate.Code]int `json:"failures"`
	Usage      llm.Usage             `json:"usage"`
	Answer     string                `json:"answer"`              // the model's last words
	Workspace  string                `json:"workspace,omitempty"` // where it is, if it was kept
}

// Why returns why the trial did not pass, "" if it did.
func (t *Trial) Why() string {
	if t.Failure != nil {
		return t.Failure.Error()
	}
	return t.Error
}

// count fills in how the conversation went.
func (t *Trial) count(messages []llm.Message, usage llm.Usage) {
	t.Usage = usage
	t.Refusals, t.Failures = map[callgate.Code]int{}, map[callgate.Code]int{}
	for _, m := range messages {
		if m.Role == llm.Assistant {
			t.Turns++
		}
		for _, r := range m.Results() {
			t.Calls++
			switch r.Status() {
			case callgate.Blocked:
				t.Refusals[r.Code]++
			case callgate.Failed:
				t.Failures[r.Code]++
			}
		}
	}
}

// total returns the sum of the counts.
func total(counts map[callgate.Code]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// summarize returns the figures of trials, those of pass@k left out.
func summarize(trials []Trial) Summary {
	s := Summary{Trials: len(trials), Refusals: map[callgate.Code]int{}, Failures: map[callgate.Code]int{}}
	var times []float64
	for _, t := range trials {
		if t.Status == Passed {
			s.Passes++
		}
		times = append(times, t.DurationMS)
		s.Usage = s.Usage.Add(t.Usage)
		s.Calls += t.Calls
		for code, n := range t.Refusals {
			s.Refusals[code] += n
		}
		for code, n := range t.Failures {
			s.Failures[code] += n
		}
	}
	s.P50MS, s.P95MS = percentile(times, 50), percentile(times, 95)
	return s
}

// finish fills in what follows from the results.
func (t *TaskReport) finish() {
	t.Summary = summarize(t.Results)
	t.PassAt1, t.PassAtK = PassAt(t.Trials, t.Passes, 1), PassAt(t.Trials, t.Passes, t.K)
	failed := func(r Trial) bool { return r.Status == Errors }
	switch {
	case t.Error == "" && t.Trials < t.planned:
		t.Status = Incomplete
	case t.Trials == 0 || slices.ContainsFunc(t.Results, failed):
		t.Status = Errors
	case t.Passes >= t.Needed:
		t.Status = Passed
	default:
		t.Status = Failed
	}
}

// finish fills in the totals. A task that was not tried counts as one without a
// pass, unless that is because of an interrupt; a suite without tasks has not passed.
func (r *Report) finish() {
	var all []Trial
	var one, k, n float64
	r.Totals = Totals{Tasks: len(r.Tasks)}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		t.finish()
		all = append(all, t.Results...)
		if t.Status != Incomplete || t.Trials > 0 {
			one, k, n = one+t.PassAt1, k+t.PassAtK, n+1
		}
		switch t.Status {
		case Passed:
			r.Totals.Passed++
		case Failed:
			r.Totals.Failed++
		case Incomplete:
			r.Totals.Incomplete++
		default:
			r.Totals.Errors++
		}
	}
	r.Totals.Summary = summarize(all)
	if n > 0 {
		r.Totals.PassAt1, r.Totals.PassAtK = one/n, k/n
	}
	switch {
	case r.Totals.Incomplete > 0:
		r.Status = Incomplete
	case r.Totals.Errors > 0 || len(r.Tasks) == 0:
		r.Status = Errors
	case r.Totals.Failed > 0:
		r.Status = Failed
	default:
		r.Status = Passed
	}
}
