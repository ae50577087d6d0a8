package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/schema"
	"github.com/callgate/callgate/workspace"
)

// A bashJobInput is what bash takes where there is a place for background jobs.
type bashJobInput struct {
	bashInput
	Background bool `json:"background,omitempty" description:"Start it as a background job, which has no time limit unless timeout_ms is given, and answer at once with its job_id."`
}

// A jobStart is the typed result of bash that started a job.
type jobStart struct {
	JobID  string `json:"job_id"`
	Status string `json:"status" enum:"running"`
}

// withJobs completes the spec of bash: with background jobs if there is a place for
// them, else without.
func (p *Programs) withJobs(spec *callgate.Spec) error {
	output, err := schema.For[bashOutput]()
	if err != nil {
		return err
	}
	if p.Jobs == nil {
		spec.OutputSchema = output
		spec.InputSchema, err = schema.For[bashInput]()
		return err
	}
	started, err := schema.For[jobStart]()
	if err != nil {
		return err
	}
	spec.OutputSchema = fmt.Appendf(nil, `{"type":"object","anyOf":[%s,%s]}`, output, started)
	words, err := descriptions.ReadFile("bash_background.md")
	if err != nil {
		return err
	}
	spec.Description += "\n\n" + strings.TrimSpace(string(words))
	return nil
}

// background starts a command as a job of the session.
func (p *Programs) background(ctx context.Context, ws *workspace.Workspace, in bashInput) (callgate.Result, error) {
	cmd, err := p.shell(ws, in, process.Forever)
	if err != nil {
		return callgate.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return callgate.Result{}, callgate.NotSent(err)
	}
	x, _ := callgate.ExecutionFrom(ctx)
	j := &job{session: sessionOf(x), command: in.Command}
	j.log.store, j.log.live = p.Artifacts, p.live(ctx)
	p.bound(&cmd)
	cmd.Output, cmd.Keep = &j.log, 1 // what is shown is in the log
	if err := p.Jobs.start(j, cmd); err != nil {
		return callgate.Result{}, err
	}
	if x != nil {
		x.OnTurnCanceled(func() { j.cancel(errTurnCanceled) })
	}
	if err := ctx.Err(); err != nil { // the answer will not arrive, and nobody would know of the job
		j.cancel(errTurnCanceled)
		<-j.done
		return callgate.Result{}, fmt.Errorf("the job was started and ended again: %w", err)
	}
	r := callgate.Text("started " + j.id)
	until := p.Jobs.Until
	if until == "" {
		until = "It ends with the session."
	}
	r.Notes = []string{fmt.Sprintf("%s runs in the background: job_output shows what it prints, job_kill ends it. %s", j.id, until)}
	r.Structured, err = json.Marshal(jobStart{JobID: j.id, Status: "running"})
	return r, err
}

// sessionOf returns the session of a call, "" for one that belongs to none.
func sessionOf(x *callgate.Execution) string {
	if x == nil || x.Anonymous() {
		return ""
	}
	return x.Call.Identity.Session
}
