package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/callgate/callgate/llm"
)

// asBash are the tools that show and end what bash has started: who may use bash may
// use them.
var asBash = map[string]bool{"job_output": true, "job_kill": true}

// oneTurn is for commands that answer one turn and end: it tells the model that jobs
// do not outlive it.
func (g *gate) oneTurn() {
	g.jobs.Until = "It ends when this turn has been answered, since nothing of the gate runs on between turns."
}

// nameJobs sees to it that no job has the name of one that the session had before.
func (g *gate) nameJobs() error {
	info, err := g.journal.SessionInfo(context.Background(), g.session)
	g.jobs.After(int(info.Calls)) // none started more than one
	return err
}

// endJobs ends the background jobs, and tells the person which had not ended.
func (g *gate) endJobs() {
	if running := g.jobs.Running(); len(running) > 0 && g.stderr != nil {
		fmt.Fprintln(g.stderr, "callgate: still running, and ended with this command: "+visible(strings.Join(running, ", ")))
	}
	g.jobs.Close()
}

// callsOf counts the calls of a conversation, that of the session from which it was
// forked included: no call started more than one job.
func callsOf(history []llm.Message) (n int) {
	for _, m := range history {
		n += len(m.Calls())
	}
	return n
}
