package callgate

import (
	"context"
	"time"
)

// carry hands x to the executor. An executor of somebody else's is not trusted
// to return: what overstays twice the grace is answered for.
func (d *Dispatcher) carry(ctx context.Context, x *Execution) Outcome {
	if d.Executor == nil {
		return d.local.Execute(ctx, x)
	}
	done := make(chan Outcome, 1)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		out := x.fail(&Error{Code: Internal, Message: "the executor ended without an outcome"})
		defer func() {
			if p := recover(); p != nil {
				e := panicked(p)
				e.Code, e.Message = Internal, "the executor failed; whether the call ran is not known"
				out = x.fail(e)
			}
			done <- out
		}()
		out = d.Executor.Execute(ctx, x)
		out.Result = d.complete(x, out)
	}()
	backstop := time.NewTimer(x.Timeout + 2*d.grace())
	defer backstop.Stop()
	var canceled <-chan time.Time
	end := ctx.Done()
	for {
		select {
		case out := <-done:
			return out
		case <-end:
			t := time.NewTimer(2 * d.grace())
			defer t.Stop()
			end, canceled = nil, t.C
		case <-canceled:
			return d.overstayed(returned, x.fail(&Error{Code: OutcomeUnknown, Cause: context.Cause(ctx), Message: "the executor did not say what became of the call; it may have run, verify before you repeat it"}))
		case <-backstop.C:
			return d.overstayed(returned, x.fail(&Error{Code: OutcomeUnknown, Message: "the executor did not say what became of the call within its time limit; it may have run, verify before you repeat it"}))
		}
	}
}

// overstayed counts what was answered for and still runs, until it returns.
func (d *Dispatcher) overstayed(returned <-chan struct{}, out Outcome) Outcome {
	out.Returned = returned
	d.abandoned.Add(1)
	go func() {
		<-returned
		d.abandoned.Add(-1)
	}()
	return out
}

// recall asks the executor whether it has the answer already. An executor that
// fails at that must not be asked to run anything: no answer is not "unknown". One
// of somebody else's may wait for a call that runs elsewhere, but is not trusted
// to heed the end of ctx.
func (t *run) recall(ctx context.Context, x *Execution) (Outcome, bool) {
	if x.anonymous {
		return Outcome{}, false
	}
	d := t.gate
	if d.Executor == nil {
		return d.local.Recall(ctx, x)
	}
	type recalled struct {
		out Outcome
		ok  bool
	}
	done := make(chan recalled, 1)
	go func() {
		r := recalled{ok: true}
		finished := false
		defer func() {
			if !finished {
				e := panicked(recover())
				e.Code, e.Message, e.NotStarted = Internal, "the record of earlier calls cannot be read, so the call was not run", true
				r.out = x.fail(e)
			}
			done <- r
		}()
		if r.out, r.ok = d.Executor.Recall(ctx, x); r.ok {
			r.out.Result = d.complete(x, r.out)
		}
		finished = true
	}()
	select {
	case r := <-done:
		return r.out, r.ok
	case <-ctx.Done():
	}
	late := time.NewTimer(2 * d.grace())
	defer late.Stop()
	select {
	case r := <-done:
		return r.out, r.ok
	case <-late.C:
		return x.fail(&Error{Code: OutcomeUnknown, Cause: context.Cause(ctx), Message: "the executor did not say whether the call was submitted before; it may have run then, verify before you repeat it"}), true
	}
}
