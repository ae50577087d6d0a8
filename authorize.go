package callgate

import (
	"context"
	"fmt"
	"slices"
)

// authorize asks the policy, and if need be a person, whether call i may run,
// and leaves the decision on its execution.
func (t *run) authorize(ctx context.Context, i int) *Error {
	d, x := t.gate, &t.states[i].exec
	err := t.decide(ctx, i)
	t.states[i].judged.fire()
	d.observe(ctx, Event{Kind: Decided, Call: x.Call, Tool: &x.entry.Tool, Decision: &x.Decision, Err: err})
	return err
}

// decide asks about one call at a time and in the model's order; a call that
// needs no asking is not held up by those that do.
func (t *run) decide(ctx context.Context, i int) (err *Error) {
	d, x, access := t.gate, &t.states[i].exec, t.plan[i].Access
	if x.Decision, err = d.judge(ctx, x, access); err != nil || x.Decision.Verdict != Ask {
		return refusal(err, x.Decision)
	}
	if d.Approver == nil {
		e := denied(x.Decision)
		e.Message = "it needs a person's approval and nobody can be asked: " + or(x.Decision.Reason, "no rule allows it")
		return e
	}
	for j := range i {
		if !t.states[j].judged.wait(ctx) {
			return canceledBeforeStart(ctx)
		}
	}
	select {
	case d.asking <- struct{}{}:
	case <-ctx.Done():
		return canceledBeforeStart(ctx)
	}
	// The answer to an earlier ask may have settled this one ("always allow").
	if x.Decision, err = d.judge(ctx, x, access); err != nil || x.Decision.Verdict != Ask {
		<-d.asking
		return refusal(err, x.Decision)
	}
	x.Decision, err = d.ask(ctx, x, access, x.Decision)
	return err
}

// refusal returns err, or the refusal that a verdict other than Ask implies.
func refusal(err *Error, dec Decision) *Error {
	if err == nil && dec.Verdict == Deny {
		return denied(dec)
	}
	return err
}

func denied(dec Decision) *Error {
	msg := or(dec.Reason, "the policy does not allow this call")
	if dec.Rule != "" {
		msg += " (rule " + dec.Rule + ")"
	}
	return &Error{Code: PermissionDenied, Message: msg, NotStarted: true}
}

// judge asks the policy. Anything but a clear answer in time is a denial.
func (d *Dispatcher) judge(ctx context.Context, x *Execution, access []Access) (Decision, *Error) {
	if d.Policy == nil {
		dec, _ := ReadOnlyTools(ctx, Request{Spec: Spec{Annotations: x.Spec.Annotations}, Source: x.Source})
		return dec, nil
	}
	type judged struct {
		dec Decision
		err error
	}
	limit := orDuration(d.PolicyTimeout, 5e9)
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan judged, 1)
	go func() {
		var j judged
		finished := false
		defer func() {
			if !finished {
				j = judged{err: panicked(recover())}
			}
			done <- j
		}()
		j.dec, j.err = d.Policy(ctx, x.request(access))
		if j.err != nil {
			j.err = asError(j.err) // here, where its methods may panic
		}
		finished = true
	}()
	select {
	case j := <-done:
		if caller.Err() != nil {
			return Decision{Rule: "policy.canceled"}, canceledBeforeStart(caller)
		}
		if j.err != nil {
			return Decision{Rule: "policy.error"}, policyFailed(j.err)
		}
		if j.dec.Verdict > Allow {
			return Decision{Rule: "policy.error"}, policyFailed(fmt.Errorf("unknown verdict %d", j.dec.Verdict))
		}
		return j.dec, nil
	case <-ctx.Done():
		if caller.Err() != nil {
			return Decision{Rule: "policy.canceled"}, canceledBeforeStart(caller)
		}
		return Decision{Rule: "policy.timeout"}, policyFailed(fmt.Errorf("no verdict within %v", limit))
	}
}

func policyFailed(cause error) *Error {
	e := &Error{Code: PermissionDenied, NotStarted: true, Cause: cause, Message: "the permission check failed, so the call was not allowed; tell the user"}
	e.Stack = asError(cause).Stack
	return e
}

// ask puts the call to a person. An approver that does not heed ctx, one that
// reads from a terminal say, is left behind; nobody else is asked until it is back
// (d.asking, which the caller holds, is given back then).
func (d *Dispatcher) ask(ctx context.Context, x *Execution, access []Access, why Decision) (Decision, *Error) {
	type said struct {
		answer Answer
		err    error
	}
	done := make(chan said, 1)
	req := x.request(access)
	go func() {
		defer func() { <-d.asking }()
		var s said
		finished := false
		defer func() {
			if !finished {
				s = said{err: panicked(recover())}
			}
			done <- s
		}()
		s.answer, s.err = d.Approver(ctx, req, why)
		finished = true
	}()
	var s said
	select {
	case s = <-done:
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil:
		return why, canceledBeforeStart(ctx)
	case s.err != nil:
		if e, ok := s.err.(*Error); ok && e != nil && e.Code == Unavailable {
			return why, &Error{Code: Unavailable, NotStarted: true, Cause: e.Cause, Message: e.Message}
		}
		e := &Error{Code: ApprovalRejected, NotStarted: true, Cause: s.err, Message: "the approval could not be obtained, so the call was not run"}
		if p, ok := s.err.(*Error); ok && p != nil {
			e.Stack = p.Stack
		}
		return why, e
	case !s.answer.Approved:
		msg := "the user declined this call"
		if s.answer.Message != "" {
			msg += " and said: " + s.answer.Message
		}
		return why, &Error{Code: ApprovalRejected, NotStarted: true, Message: msg}
	}
	why.Verdict, why.By = Allow, or(s.answer.By, "approver")
	return why, nil
}

// request returns what is shown to a policy or an approver: copies, since what
// they are shown is what runs.
func (x *Execution) request(access []Access) Request {
	call := x.Call
	call.Arguments = slices.Clone(call.Arguments)
	return Request{Call: call, Spec: x.Spec.Clone(), Source: x.Source, Access: slices.Clone(access)}
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}
