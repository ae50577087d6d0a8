package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/schema"
)

// jobMaxWait is how long job_output waits at most.
const jobMaxWait = 60 * time.Second

type jobOutputInput struct {
	JobID  string `json:"job_id" description:"As bash has given it." minLength:"1" maxLength:"100"`
	WaitMS int64  `json:"wait_ms,omitempty" description:"How long to wait, in milliseconds, for the job to end or to have something new; not at all if absent." minimum:"0" maximum:"60000"`
	Offset *int64 `json:"offset,omitempty" description:"Show the output from this byte on, shown before or not; what is new if absent." minimum:"0"`
	Tail   int    `json:"tail,omitempty" description:"Show only the last so many lines of it." minimum:"1" maximum:"10000"`
}

// A jobAnswer is the typed result of job_output and job_kill.
type jobAnswer struct {
	JobID      string  `json:"job_id"`
	Status     string  `json:"status" description:"running, exited, killed, timeout, output_limit, memory_limit, turn_canceled, session_ended or lost"`
	ExitCode   *int    `json:"exit_code,omitempty" description:"128 and the signal's number if a signal ended the job; absent while it runs."`
	Signal     string  `json:"signal,omitempty"`
	Sandbox    string  `json:"sandbox,omitempty" description:"Level of the sandbox that the job ran at; absent while it runs."`
	DurationMS float64 `json:"duration_ms"`
	Bytes      int64   `json:"bytes" description:"Of output, all together so far."`
	Offset     int64   `json:"offset" description:"Byte at which the output shown begins."`
	NextOffset int64   `json:"next_offset" description:"Byte at which what comes after it begins."`
	LeftOut    int64   `json:"left_out,omitempty" description:"Bytes between offset and next_offset that are not shown."`
	Gone       int64   `json:"gone,omitempty" description:"Bytes before offset that were to be shown and can no longer be."`
	Artifact   string  `json:"artifact,omitempty" description:"Where the whole output can be read, once the job has ended."`
	Background int     `json:"background,omitempty" description:"Processes that still ran when the command had ended, and were ended with it."`
}

// output returns the tool job_output. It moves the place up to which the output was
// shown, so it is no read for which a repetition is as good; but a call that is
// entered again shows the same, and an offset shows anything again.
func (s *Jobs) output() (callgate.Tool, error) {
	return jobTool(callgate.Spec{
		Name: "job_output", Title: "Output of a job", TimeoutMS: (jobMaxWait + 10*time.Second).Milliseconds(),
		Annotations: callgate.Annotations{IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(true)},
	}, func(in jobOutputInput) string { return in.JobID }, func(ctx context.Context, x *callgate.Execution, in jobOutputInput) (callgate.Result, error) {
		j, err := s.find(sessionOf(x), in.JobID)
		if err != nil {
			return callgate.Result{}, err
		}
		from := j.unread(x)
		if in.Offset != nil {
			from = *in.Offset
		}
		if err := j.wait(ctx, min(time.Duration(in.WaitMS)*time.Millisecond, jobMaxWait), from); err != nil {
			return callgate.Result{}, err // nothing was shown
		}
		return j.answer(from, in)
	})
}

// answer shows the output from an offset on, and how the job is.
func (j *job) answer(from int64, in jobOutputInput) (callgate.Result, error) {
	ended := !j.running() // before the look at its output, to which nothing is added then
	if total, _ := j.log.size(); from > total {
		return callgate.Result{}, callgate.Errorf(callgate.ExecutionError, "offset %d is past the end: %s has printed %d bytes", from, j.id, total)
	}
	var v jobView
	var err error
	if in.Offset != nil && in.Tail == 0 {
		v, err = j.log.page(from, ended)
	} else {
		v, err = j.log.since(from, in.Tail, ended)
	}
	if err != nil {
		return callgate.Result{}, fmt.Errorf("the output of %s cannot be read: %w", j.id, err)
	}
	out := jobAnswer{
		JobID: j.id, Status: j.status(ended), DurationMS: float64(j.age(ended).Microseconds()) / 1000,
		Bytes: v.total, Offset: v.from, NextOffset: v.next, LeftOut: v.omit, Gone: v.gone,
	}
	r := callgate.Result{Notes: []string{j.line(ended)}, Truncated: v.omit > 0 || v.gone > 0}
	var keepErr error
	if ended {
		out.ExitCode, out.Signal, out.Sandbox, out.Background = new(j.res.ExitCode), j.res.Signal, string(j.res.Level), j.res.Background
		out.Artifact, keepErr = j.log.keep()
		r.Artifact = out.Artifact
	}
	note := func(format string, args ...any) { r.Notes = append(r.Notes, "Note: "+fmt.Sprintf(format, args...)) }
	if v.gone > 0 {
		note("%d bytes before offset %d are not shown: only the newest output is held in memory.", v.gone, v.from)
	}
	if v.omit > 0 && out.Artifact == "" {
		note("%d bytes are left out; job_output with offset=%d shows them.", v.omit, v.omitAt)
	}
	if rest := v.total - v.next; rest > 0 && (ended || in.Offset != nil) {
		note("%d more bytes; job_output with offset=%d goes on.", rest, v.next)
	}
	if out.Artifact != "" {
		note("the whole output, %d bytes, is kept: read_file with path %s pages it.", v.total, out.Artifact)
	} else if keepErr != nil {
		note("the output could not be kept whole (%v).", keepErr)
	}
	if ended && j.res.Background > 0 {
		note("%s still ran when the command had ended, and ended with it.", plural(j.res.Background, "process"))
	}
	text := v.text
	switch {
	case v.total == 0 && ended:
		text = "(no output)"
	case v.total == 0:
		text = "(no output yet)"
	case v.next == v.from:
		text = "(nothing new)"
	}
	r.Content = []callgate.Content{{Type: "text", Text: text}}
	if r.Structured, err = json.Marshal(out); err != nil {
		return r, err
	}
	j.showed(v.next)
	return r, nil
}

// jobTool returns a tool that names a job. Calls that name the same one are in order,
// and come after those before them that may start it.
func jobTool[In any](spec callgate.Spec, id func(In) string, fn func(context.Context, *callgate.Execution, In) (callgate.Result, error)) (callgate.Tool, error) {
	words, err := descriptions.ReadFile(spec.Name + ".md")
	if err != nil {
		return callgate.Tool{}, err
	}
	spec.Description = strings.TrimSpace(string(words))
	spec.OutputLimit = shownHead + shownTail + 200
	if spec.OutputSchema, err = schema.For[jobAnswer](); err != nil {
		return callgate.Tool{}, err
	}
	t, err := callgate.Func(spec, func(ctx context.Context, in In) (callgate.Result, error) {
		x, _ := callgate.ExecutionFrom(ctx)
		return fn(ctx, x, in)
	})
	t.Access = func(args json.RawMessage) []callgate.Access {
		var in In
		if schema.Bind(args, &in) != nil {
			return []callgate.Access{{Key: jobKey, Write: true}} // it will not run
		}
		return []callgate.Access{{Key: jobKey + id(in), Write: true}}
	}
	return t, err
}
