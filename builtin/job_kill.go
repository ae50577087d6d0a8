package builtin

import (
	"context"
	"fmt"
	"slices"

	"github.com/callgate/callgate"
)

type jobKillInput struct {
	JobID string `json:"job_id" description:"As bash has given it." minLength:"1" maxLength:"100"`
}

// kill returns the tool job_kill. That a job had ended before is no failure.
func (s *Jobs) kill() (callgate.Tool, error) {
	return jobTool(callgate.Spec{
		Name: "job_kill", Title: "End a job", TimeoutMS: 30_000,
		Annotations: callgate.Annotations{IdempotentHint: true, DestructiveHint: new(true), OpenWorldHint: new(true)},
	}, func(in jobKillInput) string { return in.JobID }, func(ctx context.Context, x *callgate.Execution, in jobKillInput) (callgate.Result, error) {
		j, err := s.find(sessionOf(x), in.JobID)
		if err != nil {
			return callgate.Result{}, err
		}
		ran := j.running()
		j.cancel(errJobKilled)
		select {
		case <-j.done:
		case <-ctx.Done():
			return callgate.Result{}, fmt.Errorf("%s was told to end, and has not yet: %w", j.id, ctx.Err())
		}
		r, err := j.answer(j.unread(x), jobOutputInput{})
		if err == nil && !ran {
			r.Notes = slices.Insert(r.Notes, 1, "It had ended before.")
		}
		return r, err
	})
}
