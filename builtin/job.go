package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
)

// Why a job was ended by the gate.
var (
	errJobKilled    = errors.New("killed")
	errTurnCanceled = errors.New("turn_canceled")
	errSessionEnded = errors.New("session_ended")
)

// jobQuiet is how long a job must have printed nothing for an answer that waits: who
// has begun to print mostly has more to say.
const jobQuiet = 500 * time.Millisecond

// A job is a command that runs in the background, or did.
type job struct {
	id      string
	session string
	command string
	begin   time.Time
	limit   time.Duration
	log     jobLog

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}  // closed when all of it has ended; then res is set
	res    process.Result // without the output, which is in log

	mu    sync.Mutex
	read  int64             // output before this was shown
	asked callgate.Identity // of the last call that was shown what was new
	from  int64             // and where that began
}

// running reports whether the job has not ended.
func (j *job) running() bool {
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// age returns how long the job has run, or did if it has ended.
func (j *job) age(ended bool) time.Duration {
	if ended {
		return j.res.Duration
	}
	return time.Since(j.begin)
}

// status returns running, or in one word why the job ended if it has.
func (j *job) status(ended bool) string {
	switch {
	case !ended:
		return "running"
	case j.res.Reason == process.Canceled:
		return context.Cause(j.ctx).Error()
	}
	return string(j.res.Reason)
}

// line says how the job is. It has no look at res before the job has ended.
func (j *job) line(ended bool) string {
	age := spell(j.age(ended))
	if !ended {
		if j.limit == process.Forever {
			return fmt.Sprintf("%s is running, for %s so far", j.id, age)
		}
		return fmt.Sprintf("%s is running, for %s of at most %s so far", j.id, age, spell(j.limit))
	}
	what := ""
	switch s := j.status(ended); s {
	case string(process.Exited):
		what = "has ended"
	case string(process.Timeout):
		what = "was stopped at its time limit"
	case string(process.OutputLimit):
		what = fmt.Sprintf("was killed, since it printed more than %d bytes", outputLimit)
	case errJobKilled.Error():
		what = "was ended by job_kill"
	case errTurnCanceled.Error():
		what = "was ended, since the turn that started it was canceled"
	default:
		what = "was ended (" + s + ")"
	}
	code := fmt.Sprintf("exit code: %d", j.res.ExitCode)
	if j.res.Signal != "" {
		code += " (" + j.res.Signal + ")"
	}
	return fmt.Sprintf("%s %s, %s, after %s", j.id, what, code, age)
}

// title names the job in a list.
func (j *job) title() string {
	command := strings.Join(strings.Fields(j.command), " ")
	if r := []rune(command); len(r) > 60 {
		command = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%s (%s)", j.id, command)
}

// wait returns when the job has ended, has printed something after an offset and
// then nothing for jobQuiet, or more than an answer takes, or when most has passed.
// The error is that of ctx.
func (j *job) wait(ctx context.Context, most time.Duration, from int64) error {
	over := time.NewTimer(most)
	defer over.Stop()
	for {
		var more <-chan struct{}
		var quiet <-chan time.Time
		switch total, newest := j.log.size(); {
		case total-from > shownHead+shownTail:
			return ctx.Err()
		case total > from:
			left := jobQuiet - time.Since(newest)
			if left <= 0 {
				return ctx.Err()
			}
			quiet = time.After(left)
		default:
			more = j.log.more(from)
		}
		select {
		case <-quiet: // or it has printed more meanwhile
		case <-more:
		case <-j.done:
			return ctx.Err()
		case <-over.C:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unread returns where the output begins that the call x has to be shown. A call
// that is entered again begins where it began: its first answer did not arrive.
func (j *job) unread(x *callgate.Execution) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if x != nil && !x.Anonymous() && j.asked == x.Call.Identity {
		return j.from
	}
	j.from = j.read
	if x != nil {
		j.asked = x.Call.Identity
	}
	return j.read
}

// showed notes that the output before an offset was shown.
func (j *job) showed(next int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read = max(j.read, next)
}
