package callgate

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// An Executor carries an authorized call to its handler and says what became of
// it: in this process ([Local]), through a journal, or on another host. It is
// called by a [Dispatcher] only, never twice at once for one identity by the
// same turn, and must be safe for concurrent use.
//
// An Executor calls [Execution.Handle] at most once for a call whose effect is
// [Once], however often it is asked, and says [Unknown] where it cannot tell
// whether it did. What every implementation must satisfy is the conformance
// suite in package callgatetest.
type Executor interface {
	// Recall answers a call that was already submitted: with its outcome, when
	// it has one; ok is false for a call that this executor does not know, or
	// that may run (again). It waits for a call that is running.
	Recall(ctx context.Context, x *Execution) (out Outcome, ok bool)
	// Execute runs the call and returns when there is an outcome. ctx ends
	// when the caller gives up; the call's own time limit is set by Handle.
	Execute(ctx context.Context, x *Execution) Outcome
}

// An Outcome is what became of a call that was handed to an [Executor].
type Outcome struct {
	// Result answers the call; its State says what is known about the effect.
	// One without a State is no answer: the call is then answered with
	// [OutcomeUnknown].
	Result Result
	Err    *Error // the failure, with the cause and the stack for the operator
	// Returned, if not nil, says that the call was answered while its handler
	// still runs: it is closed when the handler returns. The call's locks are
	// kept until then.
	Returned <-chan struct{}
}

// An Execution is an authorized call on its way to its handler.
type Execution struct {
	Call     Call // its Arguments are the bytes that were validated, authorized and will run
	Spec     *Spec
	Source   string
	Effect   Effect
	Decision Decision
	Timeout  time.Duration // for all attempts together

	anonymous bool
	entry     *entry
	gate      *Dispatcher
	turn      *run
	notes     []string // of the plan, to stand before the tool's own
	start     time.Time
	attempts  atomic.Int32
	lock      ticket
	entered   atomic.Bool // by Handle
	tried     atomic.Bool // the handler was entered and may have had its effect
	first     attempt     // most executions need no other
}

// Anonymous reports whether the call belongs to no session: nobody can submit it
// again, so there is nothing to remember.
func (x *Execution) Anonymous() bool { return x.anonymous }

// Attempts returns how often the handler was entered so far.
func (x *Execution) Attempts() int { return int(x.attempts.Load()) }

// Digest returns the digest of the call, by which an executor knows a repetition
// from another call under the same identity.
func (x *Execution) Digest() [sha256.Size]byte { return x.Call.Digest() }

type executionKey struct{}

// ExecutionFrom returns the execution in whose handler ctx is.
func ExecutionFrom(ctx context.Context) (*Execution, bool) {
	x, ok := ctx.Value(executionKey{}).(*Execution)
	return x, ok
}

// An entry into the handler: its context, which knows the execution, and what
// came out. It outlives the execution's answer if the handler does.
type attempt struct {
	context.Context
	caller context.Context // without the call's own time limit
	x      *Execution
	done   chan struct{} // closed when the handler returned
	res    Result
	err    error
}

// Value makes the execution known to [ExecutionFrom].
func (a *attempt) Value(key any) any {
	if key == (executionKey{}) {
		return a.x
	}
	return a.Context.Value(key)
}

// finished reports whether the handler returned.
func (a *attempt) finished() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// ended says why the context of the attempt ended: [Timeout] for the call's own
// time limit, [Canceled] for the caller, who may have a deadline too; "" if it
// has not.
func (a *attempt) ended() Code {
	switch {
	case a.caller.Err() != nil:
		return Canceled
	case a.Err() != nil:
		return Timeout
	}
	return ""
}

// Handle enters the handler, surrounded by the middleware, under the call's
// deadline, and returns the settled outcome: at once when the handler is done,
// and at the latest when it has overstayed its deadline, or the end of ctx, by
// the dispatcher's grace. A call whose effect is [Once] is entered once, however
// often Handle is called. It is for executors only.
func (x *Execution) Handle(ctx context.Context) Outcome {
	x.start = time.Now()
	if ctx.Err() != nil {
		return x.fail(canceledBeforeStart(ctx))
	}
	again := x.entered.Swap(true)
	if again && x.Effect == Once {
		return x.fail(&Error{Code: Internal, Message: "the executor entered a call twice that must run once, and was stopped; it may have run, verify before you repeat it"})
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, x.Timeout)
	defer cancel()
	a := &x.first
	if again {
		a = new(attempt) // the first one may still be running
	}
	a.Context, a.caller, a.x, a.done = ctx, caller, x, make(chan struct{})
	go a.run()
	select {
	case <-a.done:
		return x.settle(a, a.res, a.err, false)
	case <-ctx.Done():
	}
	if a.finished() { // at that very moment
		return x.settle(a, a.res, a.err, false)
	}
	grace := time.NewTimer(x.gate.grace())
	defer grace.Stop()
	select {
	case <-a.done:
		return x.settle(a, a.res, a.err, true)
	case <-grace.C:
	}
	out := x.settle(a, Result{}, &Error{
		Code: a.ended(), Message: "it did not stop when it was told to", Cause: ctx.Err(),
	}, true)
	return x.gate.overstayed(a.done, out)
}

// run takes the handler to its end, whatever end that is.
func (a *attempt) run() {
	growStack()
	finished := false
	defer func() {
		if !finished {
			a.res, a.err = Result{}, panicked(recover())
		}
		close(a.done)
	}()
	if len(a.x.gate.Middleware) == 0 {
		a.res, a.err = a.x.invoke(a, a.x.Call)
	} else {
		a.res, a.err = a.x.surrounded()(a, a.x.Call)
	}
	if a.err != nil {
		a.err = asError(a.err) // here, where it may panic: it calls methods of an error that is not ours
	}
	finished = true
}

// surrounded returns the handler within the middleware.
func (x *Execution) surrounded() Handler {
	handle := x.invoke
	for _, m := range slices.Backward(x.gate.Middleware) {
		handle = m(x, handle)
	}
	return handle
}

// invoke is one attempt. It runs the call of the execution, whatever a
// middleware passes: what was validated and authorized is what runs.
func (x *Execution) invoke(ctx context.Context, _ Call) (Result, error) {
	if err := ctx.Err(); err != nil { // a middleware that did not heed it: the call may have been answered
		return Result{}, &Error{Code: CodeOf(err), NotStarted: x.Attempts() == 0, Cause: err, Message: "its time was up before it was tried"}
	}
	if x.Effect == Once && x.tried.Swap(true) {
		return Result{}, &Error{Code: Internal, Message: "a middleware tried a call again that must run once, and was stopped; it may have run, verify before you repeat it"}
	}
	n := x.attempts.Add(1)
	x.gate.observe(ctx, Event{Kind: Started, Call: x.Call, Tool: &x.entry.Tool, Attempt: int(n)})
	r, err := x.entry.Handler(ctx, x.Call)
	if err != nil {
		err = ownFailure(err)
		if e, ok := errors.AsType[*Error](err); ok && e != nil && e.NotStarted {
			x.tried.Store(false) // the handler says that nothing was sent or begun
		}
	} else if r.Code != "" && r.State == NotStarted {
		r.State = "" // the answer to another call, passed on
	}
	return r, err
}

// fail returns the outcome of a call that failed with e.
func (x *Execution) fail(e *Error) Outcome {
	r := failure(x.Call, e)
	r.Attempts = x.Attempts()
	return Outcome{Err: e, Result: r}
}

// Local is the Executor that runs calls in this process, and the one that a
// [Dispatcher] has by default. The zero value is ready to use; it must not be
// copied.
//
// It remembers the calls of named sessions for as long as the process lives: a
// turn that is submitted again is answered from memory or waits for the call
// that is running, so that each call runs once. A call that ended without being
// done may run again if its effect allows that. It does not survive a crash; the
// journal does.
type Local struct {
	// Keep is the number of settled calls whose results are kept for each
	// session; 0 means 1,024. Those of the newest turn are all kept. Calls of
	// older turns are still never run again, but answered with
	// [OutcomeUnknown].
	Keep int

	mu       sync.Mutex
	sessions map[string]*memory
}

type memory struct {
	records map[place]*record
	settled []place // oldest first
	newest  int     // turn that was claimed
	floor   int     // results of turns up to and including this one may be forgotten
}

type place struct{ turn, index int }

// A record is written before its call is entered, and its outcome before done
// is closed.
type record struct {
	digest  [sha256.Size]byte
	done    chan struct{}
	outcome Outcome
}

// Recall implements [Executor].
func (l *Local) Recall(ctx context.Context, x *Execution) (Outcome, bool) {
	if x.anonymous {
		return Outcome{}, false
	}
	for {
		l.mu.Lock()
		rec, answer := l.find(x)
		l.mu.Unlock()
		if answer != nil {
			return *answer, true
		}
		if rec == nil {
			return Outcome{}, false
		}
		select {
		case <-rec.done:
		case <-ctx.Done():
			return x.leftRunning(ctx), true
		}
	}
}

// Execute implements [Executor].
func (l *Local) Execute(ctx context.Context, x *Execution) Outcome {
	if x.anonymous {
		return x.Handle(ctx)
	}
	for {
		l.mu.Lock()
		rec, answer := l.find(x)
		if answer == nil && rec == nil {
			rec = l.claim(x)
			l.mu.Unlock()
			return l.run(ctx, x, rec)
		}
		l.mu.Unlock()
		if answer != nil {
			return *answer
		}
		select {
		case <-rec.done:
		case <-ctx.Done():
			return x.leftRunning(ctx)
		}
	}
}

// find returns the answer to x, or the record of the same call while it runs,
// or neither: then x may run.
func (l *Local) find(x *Execution) (running *record, answer *Outcome) {
	id := x.Call.Identity
	m := l.sessions[id.Session]
	if m == nil {
		return nil, nil
	}
	rec := m.records[place{id.Turn, id.Index}]
	if rec == nil {
		if id.Turn <= m.floor && m.floor != math.MinInt {
			out := x.fail(&Error{Code: OutcomeUnknown, Message: "this turn lies too far back: what became of its calls is not kept; verify before you repeat anything"})
			return nil, &out
		}
		return nil, nil
	}
	if rec.digest != x.Digest() {
		out := x.fail(&Error{Code: Conflict, NotStarted: true, Message: "call " + quote(id.String()) + " was submitted before with another tool or other arguments; a new call needs a new turn"})
		return nil, &out
	}
	select {
	case <-rec.done:
	default:
		return rec, nil
	}
	out := rec.outcome
	out.Result.CallID = x.Call.ID
	out.Result.Recorded = true
	return nil, &out
}

// leftRunning answers a repetition whose turn was stopped: the call itself goes on
// for whoever submitted it before.
func (x *Execution) leftRunning(ctx context.Context) Outcome {
	out := x.fail(&Error{Code: Canceled, Cause: context.Cause(ctx), Message: "the turn was stopped while the same call, submitted before, was running; " + OutcomeUnknown.Info().Advice})
	out.Result.State = Unknown
	return out
}

func (l *Local) claim(x *Execution) *record {
	id := x.Call.Identity
	m := l.sessions[id.Session]
	if m == nil {
		if l.sessions == nil {
			l.sessions = make(map[string]*memory)
		}
		m = &memory{records: make(map[place]*record), newest: math.MinInt, floor: math.MinInt}
		l.sessions[id.Session] = m
	}
	m.newest = max(m.newest, id.Turn)
	rec := &record{digest: x.Digest(), done: make(chan struct{})}
	m.records[place{id.Turn, id.Index}] = rec
	return rec
}

func (l *Local) run(ctx context.Context, x *Execution, rec *record) (out Outcome) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.settle(x, rec, out)
	}()
	return x.Handle(ctx)
}

func (l *Local) settle(x *Execution, rec *record, out Outcome) {
	id := x.Call.Identity
	m := l.sessions[id.Session]
	at := place{id.Turn, id.Index}
	rec.outcome = Outcome{Result: out.Result, Err: out.Err}
	close(rec.done)
	if m == nil || m.records[at] != rec { // the session was forgotten meanwhile
		return
	}
	if s := out.Result.State; s == NotStarted || s != Done && x.Effect != Once && out.Returned == nil {
		delete(m.records, at) // it may run again
		return
	}
	m.settled = append(m.settled, at)
	keep := l.Keep
	if keep <= 0 {
		keep = 1024
	}
	// The newest turn is not over: its calls that have not started must not be
	// taken for forgotten ones, however many calls it has.
	for i := 0; len(m.settled) > keep && i < len(m.settled); {
		old := m.settled[i]
		if old.turn == m.newest {
			i++
			continue
		}
		m.settled = slices.Delete(m.settled, i, i+1)
		delete(m.records, old)
		m.floor = max(m.floor, old.turn)
	}
}

// Forget drops what is remembered of a session that has ended.
func (l *Local) Forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, session)
}

// growStack makes room on the stack of a new goroutine while it is nearly empty.
// Deep in a handler, where binding needs it, each frame would have to be adjusted:
// that was a fifth of the time of a no-op call.
//
//go:noinline
func growStack() {
	var room [7 << 10]byte
	keep(&room)
}

//go:noinline
func keep(*[7 << 10]byte) {}
