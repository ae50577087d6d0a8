package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/callgate/callgate"
)

// Executor returns an executor that claims each call before next runs it, and
// settles it before it is answered. With a nil next it enters the handlers itself,
// in this process; that is the usual one, since the journal has the memory of a
// [callgate.Local] and more.
//
// It answers with [callgate.Internal], and starts nothing, when the journal cannot
// be written; and with [callgate.OutcomeUnknown] when a call has run but what came
// of it could not be recorded.
func (j *Journal) Executor(next callgate.Executor) callgate.Executor { return &executor{j, next} }

type executor struct {
	*Journal
	next callgate.Executor
}

// Recall implements [callgate.Executor].
func (e *executor) Recall(ctx context.Context, x *callgate.Execution) (callgate.Outcome, bool) {
	if x.Anonymous() {
		return callgate.Outcome{}, false
	}
	return e.known(ctx, x)
}

// Execute implements [callgate.Executor].
func (e *executor) Execute(ctx context.Context, x *callgate.Execution) callgate.Outcome {
	if x.Anonymous() {
		return e.enter(ctx, x)
	}
	for {
		if ctx.Err() != nil {
			return failed(&callgate.Error{Code: callgate.Canceled, NotStarted: true, Cause: context.Cause(ctx), Message: "the turn was stopped before this call started; nothing was done"})
		}
		if fl := e.board(x); fl != nil {
			r, err := e.claim(x, fl.digest)
			if err != nil {
				e.leave(x, fl)
				if errors.Is(err, ErrInUse) {
					return failed(&callgate.Error{Code: callgate.Unavailable, NotStarted: true, Cause: err, Message: "the call was not run, because another process has the session; submit it there, or when that has ended"})
				}
				return failed(&callgate.Error{Code: callgate.Internal, NotStarted: true, Cause: err, Message: "the call was not run, because the journal cannot be written: " + err.Error()})
			}
			if r != nil {
				return e.run(ctx, x, fl, r)
			}
			e.leave(x, fl)
		}
		// Somebody has it: here, elsewhere, or in the past.
		if out, ok := e.known(ctx, x); ok {
			return out
		}
	}
}

// enter hands x to its handler.
func (e *executor) enter(ctx context.Context, x *callgate.Execution) callgate.Outcome {
	if e.next != nil {
		return e.next.Execute(ctx, x)
	}
	return x.Handle(ctx)
}

// run takes a claimed call to its settled outcome.
func (e *executor) run(ctx context.Context, x *callgate.Execution, fl *flight, r *row) (out callgate.Outcome) {
	finished := false
	defer func() {
		if !finished { // next panics, and the dispatcher says so; what the handler did is not known
			e.settle(r, unknown("the executor failed; the call may have run: verify its effect before you repeat it"))
		}
		e.leave(x, fl)
	}()
	r.started = now()
	out = e.enter(ctx, x)
	if out.Result.State == "" {
		out = unknown("the executor did not say what became of the call; " + callgate.OutcomeUnknown.Info().Advice)
	}
	out.Result.CallID, out.Result.Tool = x.Call.ID, x.Call.Name
	err := e.settle(r, out)
	finished = true
	if out.Returned != nil {
		e.overstay(x.Call.Identity, out.Returned)
	}
	if err != nil {
		returned, attempts := out.Returned, out.Result.Attempts
		out = unknown("the call was run, but the journal could not record what came of it (" + err.Error() + "); verify its effect before you repeat it")
		out.Returned, out.Err.Cause, out.Result.Attempts = returned, err, attempts
	}
	return out
}

// board notes that x runs in this process, unless it does already.
func (j *Journal) board(x *callgate.Execution) *flight {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running[x.Call.Identity] != nil {
		return nil
	}
	fl := &flight{digest: x.Digest(), done: make(chan struct{})}
	j.running[x.Call.Identity] = fl
	return fl
}

func (j *Journal) leave(x *callgate.Execution, fl *flight) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.running, x.Call.Identity)
	close(fl.done)
}

// overstay remembers, until it returns, that the handler of a settled call still
// runs: not even an idempotent one is started beside itself.
func (j *Journal) overstay(id callgate.Identity, returned <-chan struct{}) {
	j.mu.Lock()
	j.overstaying[id]++
	j.mu.Unlock()
	go func() {
		<-returned
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.overstaying[id]--; j.overstaying[id] == 0 {
			delete(j.overstaying, id)
		}
	}()
}

func (j *Journal) state(id callgate.Identity) (fl *flight, overstays bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.running[id], j.overstaying[id] > 0
}

// known returns the answer to x, if it has been submitted before: it waits for a
// call that runs, and is false if x may run.
func (j *Journal) known(ctx context.Context, x *callgate.Execution) (callgate.Outcome, bool) {
	id := x.Call.Identity
	wait := j.opts.Wait
	if wait <= 0 {
		wait = x.Timeout
	}
	var end time.Time // of the wait for another process
	pause := time.Millisecond
	orphan := int64(-1) // run of ours that is open and that nobody runs
	for {
		fl, overstays := j.state(id)
		if fl != nil {
			if fl.digest != x.Digest() {
				return conflict(id), true
			}
			select {
			case <-fl.done:
				continue
			case <-ctx.Done():
				return leftRunning(ctx), true
			}
		}
		r, err := j.latest(id)
		if err == nil && r == nil {
			return callgate.Outcome{}, false
		}
		digest := x.Digest()
		switch {
		case err != nil:
			return failed(&callgate.Error{Code: callgate.Internal, NotStarted: true, Cause: err, Message: "the call was not run, because the journal cannot be read: " + err.Error()}), true
		case string(r.digest) != string(digest[:]) && !r.refused():
			return conflict(id), true
		case !r.open() && r.mayRun(x.Effect) && !overstays:
			return callgate.Outcome{}, false
		case !r.open():
			out, err := r.outcome(x.Call.ID)
			if err != nil {
				return failed(&callgate.Error{Code: callgate.Internal, NotStarted: true, Cause: err, Message: "the call was not run, because its record cannot be read: " + err.Error()}), true
			}
			return out, true
		case r.owner == j.owner.id && orphan != r.run:
			orphan = r.run // or it has started or ended between the two looks
			continue
		case r.owner == j.owner.id:
			return unknown("the call was run, but the journal could not record what came of it; verify its effect before you repeat it"), true
		}
		if _, dead, err := j.recoverFrom(r.owner); err != nil {
			return failed(&callgate.Error{Code: callgate.Internal, NotStarted: true, Cause: err, Message: "the call was not run, because the journal cannot be written: " + err.Error()}), true
		} else if dead && orphan != r.id {
			orphan = r.id
			continue
		} else if dead {
			return unknown("the process that ran this call is dead, and its claim cannot be settled: the journal is damaged; verify the call's effect before you repeat it"), true
		}
		if end.IsZero() {
			end = time.Now().Add(wait)
		} else if !time.Now().Before(end) {
			return unknown(fmt.Sprintf("the same call, submitted before, runs in another process and has not ended within %v; %s", wait, callgate.OutcomeUnknown.Info().Advice)), true
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 100*time.Millisecond)
		case <-ctx.Done():
			return leftRunning(ctx), true
		}
	}
}

const latest = `SELECT ` + columns + ` FROM calls WHERE session = ? AND turn = ? AND idx = ? ORDER BY run DESC LIMIT 1`

// latest returns the newest row of the call id, nil if there is none.
func (j *Journal) latest(id callgate.Identity) (*row, error) {
	if r, known := j.spool.latest(id); known {
		return r, nil
	}
	r, err := scan(j.latestStmt.QueryRow(id.Session, id.Turn, id.Index))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

// claim writes the row of x, which has the digest, if x may run; it is nil if somebody
// else has the call.
func (j *Journal) claim(x *callgate.Execution, digest [32]byte) (*row, error) {
	r, err := j.newRow(x, digest)
	if err != nil {
		return nil, err
	}
	_, overstays := j.state(x.Call.Identity)
	for x.Effect == callgate.ReadOnly {
		to, err := j.spool.claim(r, overstays)
		if err == errFull {
			if err = j.flush(); err == nil {
				continue
			}
		}
		switch {
		case err != nil || to == refused:
			return nil, err
		case to == spooled:
			return r, nil
		}
		break
	}
	var mine bool
	err = j.enter(x.Effect != callgate.ReadOnly, func(w *writer) (err error) {
		r.run = 0
		if err := w.enter(r.session, r.claimed, j.owner.id); err != nil {
			return err
		}
		j.spool.note(r.identity())
		if mine, err = w.insert(r); err != nil || mine {
			return err
		}
		before, err := w.rows(latest, r.session, r.turn, r.index)
		if err != nil {
			return err
		}
		b := before[0]
		if string(b.digest) != string(r.digest) && !b.refused() || b.open() || overstays || !b.mayRun(x.Effect) {
			return nil
		}
		r.run = b.run + 1
		mine, err = w.insert(r)
		return err
	})
	if err != nil || !mine {
		return nil, err
	}
	return r, nil
}

// insert writes the claim r, unless there is one of the same call and run.
func (w *writer) insert(r *row) (bool, error) {
	res, err := w.run(`INSERT INTO calls (session, turn, idx, run, call_id, tool, source, tool_digest, effect, arguments, digest, redacted, verdict, rule, reason, approver, labels, sandbox, owner, claimed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		r.session, r.turn, r.index, r.run, r.callID, r.tool, r.source, r.toolDigest, r.effect, r.arguments, r.digest, r.redacted, r.verdict, r.rule, r.reason, r.by, r.labels, r.sandbox, r.owner, r.claimed)
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return false, err
	}
	r.id, err = res.LastInsertId()
	return true, err
}

// settle writes what became of the call of r.
func (j *Journal) settle(r *row, out callgate.Outcome) error {
	if err := j.settleRow(r, out.Result); err != nil {
		return err
	}
	if r.entry != nil {
		if err := j.spool.settle(r); err == nil {
			return nil
		}
		// The file cannot be written; perhaps the database can.
		c := *r
		err := j.write.do(false, func(w *writer) error {
			a := adder{w: w}
			return a.add(&c, true)
		})
		if err == nil {
			j.spool.forget(&c)
		}
		return err
	}
	return j.write.do(r.effect != callgate.ReadOnly.String(), func(w *writer) error { return w.settle(r) })
}

// settle puts r at the end of the chain, within the transaction.
func (w *writer) settle(r *row) error {
	return w.append(kindCall, func(seq int64) (int64, []byte, error) {
		r.seq = seq
		if done, err := w.update(r, seq); err != nil || !done {
			return 0, nil, errors.Join(errors.New("the claim is gone or was settled by another"), err)
		}
		return r.id, r.sum(), nil
	})
}

// update writes what became of the claim r, unless it is gone or somebody has.
func (w *writer) update(r *row, seq int64) (bool, error) {
	res, err := w.run(`UPDATE calls SET started = ?, ended = ?, attempts = ?, state = ?, code = ?, truncated = ?, result = ?, redacted = ?, artifact = ?, artifact_sum = ?, seq = ? WHERE id = ? AND owner = ? AND claimed = ? AND seq IS NULL`,
		r.started, r.ended, r.attempts, r.state, r.code, r.truncated, r.result, r.redacted, r.artifact, r.artifactSum, seq, r.id, r.owner, r.claimed)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func failed(e *callgate.Error) callgate.Outcome {
	state := e.Code.Info().State
	if e.NotStarted {
		state = callgate.NotStarted
	}
	return callgate.Outcome{Err: e, Result: callgate.Result{Code: e.Code, Message: e.Message, State: state}}
}

func unknown(message string) callgate.Outcome {
	return failed(&callgate.Error{Code: callgate.OutcomeUnknown, Message: message})
}

func conflict(id callgate.Identity) callgate.Outcome {
	return failed(&callgate.Error{Code: callgate.Conflict, NotStarted: true, Message: fmt.Sprintf("call %q was submitted before with another tool or other arguments; a new call needs a new turn", id)})
}

// leftRunning answers a repetition whose turn was stopped: the call itself goes on
// for whoever submitted it before.
func leftRunning(ctx context.Context) callgate.Outcome {
	out := failed(&callgate.Error{Code: callgate.Canceled, Cause: context.Cause(ctx), Message: "the turn was stopped while the same call, submitted before, was running; " + callgate.OutcomeUnknown.Info().Advice})
	out.Result.State = callgate.Unknown
	return out
}
