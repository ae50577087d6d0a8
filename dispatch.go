package callgate

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// A Dispatcher carries the calls of a turn down the road: plan, authorize, run,
// settle. Its zero value is ready to use and runs read-only local tools only. It
// is safe for concurrent use; its fields must not be changed after the first
// Dispatch, and it must not be copied.
type Dispatcher struct {
	Policy     Policy       // nil means [ReadOnlyTools]
	Approver   Approver     // nil: where the policy says Ask, the call is refused
	Executor   Executor     // nil means a [Local] of the dispatcher's own
	Middleware []Middleware // the first is outermost
	Observers  []Observer

	// Locks orders calls against those of other dispatchers that have the same
	// Locks. Nil means the dispatcher's own.
	Locks *Locks
	// Resolve has, for a scheme of keys such as "file:", a function that turns
	// a key into the keys of what it names at this moment, links followed, so
	// that two names of one thing meet. It must be safe for concurrent use. A
	// scheme that is not there has no aliases.
	Resolve map[string]func(key string) []string
	// Spill keeps an output that is over its limit whole, and returns a
	// reference by which the model can read on. Nil: what is cut off is lost,
	// and the model is told so.
	Spill func(ctx context.Context, id Identity, output string) (ref string, err error)

	Parallel      int           // handlers at once; 0 means 8
	Timeout       time.Duration // of a tool that sets none; 0 means 2 minutes
	Grace         time.Duration // how long a handler may overstay before it is answered for; 0 means 1 second
	PolicyTimeout time.Duration // how long the policy may think; 0 means 5 seconds
	OutputLimit   int           // characters of text in a result; 0 means 50,000
	MaxAbandoned  int           // handlers that overstayed and still run, above which no call starts; 0 means 64

	local     Local
	locks     Locks
	once      sync.Once
	slots     chan struct{}
	asking    chan struct{} // holds a token while a person is asked
	abandoned atomic.Int32
}

func (d *Dispatcher) init() {
	d.once.Do(func() {
		d.slots = make(chan struct{}, d.parallel())
		d.asking = make(chan struct{}, 1)
	})
}

func (d *Dispatcher) parallel() int {
	if d.Parallel > 0 {
		return d.Parallel
	}
	return 8
}

// longest stands for ever: sums of durations up to it do not overflow.
const longest = 10 * 365 * 24 * time.Hour

func (d *Dispatcher) grace() time.Duration { return min(orDuration(d.Grace, time.Second), longest) }

func (d *Dispatcher) timeout(s *Spec) time.Duration {
	if t := s.Timeout(); t > 0 {
		return t
	}
	return min(orDuration(d.Timeout, 2*time.Minute), longest)
}

func (d *Dispatcher) locksOf() *Locks {
	if d.Locks != nil {
		return d.Locks
	}
	return &d.locks
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Abandoned returns the number of handlers, and of calls of an Executor, that were
// answered for when they overstayed their deadline, and still run.
func (d *Dispatcher) Abandoned() int { return int(d.abandoned.Load()) }

// Dispatch carries the calls of a turn whose model was shown cat. The result at
// index i answers turn.Calls[i]: always exactly one each, whatever fails, panics,
// is refused or is canceled. When ctx ends, calls that did not start are answered
// with [Canceled], and running handlers have Grace to stop.
//
// Calls that touch different things run at once; the effect of a turn equals
// that of its calls run one after another.
func (d *Dispatcher) Dispatch(ctx context.Context, cat *Catalog, turn Turn) []Result {
	results := make([]Result, len(turn.Calls))
	d.dispatch(ctx, cat, turn, results, nil)
	return results
}

// Stream is Dispatch for a reader who wants each result as it comes: it yields
// the index of a call and its result, in order of completion. Leaving the loop
// early cancels the calls that are not done, and waits for them to settle.
func (d *Dispatcher) Stream(ctx context.Context, cat *Catalog, turn Turn) iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		results := make([]Result, len(turn.Calls))
		answered := make(chan int, len(turn.Calls))
		go func() {
			defer close(answered)
			d.dispatch(ctx, cat, turn, results, answered)
		}()
		watching := true
		for i := range answered {
			if watching && !yield(i, results[i]) {
				watching = false
				cancel()
			}
		}
	}
}

// dispatch is the one road. It leaves the answer to call i in results[i], tells
// answered, if there is one, and returns when all calls have been answered.
func (d *Dispatcher) dispatch(ctx context.Context, cat *Catalog, turn Turn, results []Result, answered chan<- int) {
	if len(turn.Calls) == 0 {
		return
	}
	d.init()
	t := &run{ctx: ctx, gate: d, anonymous: turn.Session == "", slots: d.slots, results: results, answered: answered}
	t.plan, t.states = t.onePlan[:], t.oneState[:]
	if len(turn.Calls) > 1 {
		t.plan, t.states = make(Plan, len(turn.Calls)), make([]state, len(turn.Calls))
		for i := range t.states {
			t.states[i].settled, t.states[i].judged = newSignal(), newSignal()
		}
	}
	cat.plan(turn, t.plan)
	if parent, ok := ExecutionFrom(ctx); ok {
		// A handler dispatches calls of its own, a sub-agent's say. Its slot is
		// taken: if its calls needed slots of the same pool, eight sub-agents
		// would wait for themselves.
		t.parent, t.slots = parent, make(chan struct{}, d.parallel())
	}
	if len(t.plan) == 1 {
		t.call(ctx, 0)
		return
	}
	var wg sync.WaitGroup
	for i := range t.plan {
		wg.Go(func() { growStack(); t.call(ctx, i) })
	}
	wg.Wait()
}

// A run is one turn on its way.
type run struct {
	ctx       context.Context // of the turn, for what outlives a handler
	gate      *Dispatcher
	anonymous bool
	plan      Plan
	states    []state // one for each step
	slots     chan struct{}
	parent    *Execution
	results   []Result
	answered  chan<- int // nil if nobody waits for single results

	// Most turns have one call: its state needs no memory of its own.
	onePlan  [1]Step
	oneState [1]state

	mu        sync.Mutex // guards the resolved keys in states, and what follows
	epoch     int        // counts calls that settled, after which keys may name other things
	told      int        // counts calls that were answered
	aftermath []func() bool
}

// A state is how far a call has come.
type state struct {
	settled signal // fired when the call has its result
	judged  signal // fired when the call needs no more asking
	exec    Execution

	keys  []Access // resolved
	epoch int      // of run, when keys was made; keys of a started call stay
	fixed bool     // the call started with keys
}

// call answers for call i.
func (t *run) call(ctx context.Context, i int) {
	d, step, st := t.gate, &t.plan[i], &t.states[i]
	answered := false
	defer func() {
		if !answered { // somebody called runtime.Goexit: the siblings must not wait for ever
			t.results[i] = failure(step.Call, &Error{Code: Internal, Message: "the gate was stopped at this call; it may have run"})
			t.results[i].Attempts = st.exec.Attempts()
			t.tell(i)
		}
	}()
	d.observe(ctx, Event{Kind: Planned, Call: step.Call, Tool: step.Tool, Err: step.Refusal})
	var out Outcome
	if step.Refusal != nil {
		out = Outcome{Err: step.Refusal, Result: failure(step.Call, step.Refusal)}
	} else {
		st.exec.carries(d, step, t.anonymous)
		st.exec.turn = t
		out = t.proceed(ctx, i)
	}
	st.judged.fire()
	t.mu.Lock()
	t.epoch++
	t.mu.Unlock()
	t.results[i] = out.Result
	d.observe(ctx, Event{Kind: Settled, Call: step.Call, Tool: step.Tool, Decision: &st.exec.Decision, Result: &t.results[i], Err: out.Err})
	answered = true
	t.tell(i)
}

// carries makes x the execution of a step that was not refused.
func (x *Execution) carries(d *Dispatcher, step *Step, anonymous bool) {
	x.Call, x.Spec, x.Source = step.Call, &step.entry.Spec, step.Tool.Source
	x.Effect, x.Timeout = step.Tool.Annotations.Effect(), d.timeout(&step.Tool.Spec)
	x.anonymous, x.entry, x.gate, x.notes = anonymous, step.entry, d, step.Repaired
}

// tell says that results[i] is there.
func (t *run) tell(i int) {
	t.count()
	t.states[i].judged.fire()
	t.states[i].settled.fire()
	if t.answered != nil {
		t.answered <- i
	}
}

// proceed takes a call that may run from its plan to its outcome.
func (t *run) proceed(ctx context.Context, i int) Outcome {
	x := &t.states[i].exec
	for _, j := range t.plan[i].After {
		if !t.states[j].settled.wait(ctx) {
			return x.fail(canceledBeforeStart(ctx))
		}
	}
	if err := t.inOrder(ctx, i, false); err != nil {
		return x.fail(err)
	}
	if out, ok := t.recall(ctx, x); ok {
		return out
	}
	out := t.start(ctx, i)
	if out.Result.State == NotStarted && x.Attempts() == 0 {
		// Not by this submission: meanwhile another one of the same call may have
		// been allowed, or have got the locks.
		if known, ok := t.recall(ctx, x); ok {
			return known
		}
	}
	return out
}

// start takes a call that nobody has submitted before through its authorization
// to its outcome.
func (t *run) start(ctx context.Context, i int) Outcome {
	x := &t.states[i].exec
	if err := t.authorize(ctx, i); err != nil {
		return x.fail(err)
	}
	// A person may have thought for minutes: look again at what the keys name.
	if err := t.inOrder(ctx, i, true); err != nil {
		return x.fail(err)
	}
	return t.execute(ctx, i)
}

// execute runs call i with its locks and a slot held.
func (t *run) execute(ctx context.Context, i int) Outcome {
	d, x := t.gate, &t.states[i].exec
	locks := d.locksOf()
	x.lock = ticket{access: t.lockKeys(i), label: x.Call.Name}
	if t.parent != nil {
		x.lock.parent = &t.parent.lock
	}
	if err := d.lock(ctx, locks, x); err != nil {
		return x.fail(err)
	}
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		locks.release(&x.lock)
		return x.fail(canceledBeforeStart(ctx))
	}
	out := d.carry(ctx, x)
	<-t.slots
	if out.Returned == nil {
		locks.release(&x.lock)
		return out
	}
	go func() {
		<-out.Returned
		locks.release(&x.lock)
		d.observe(context.WithoutCancel(ctx), Event{Kind: Returned, Call: x.Call, Tool: &x.entry.Tool})
	}()
	return out
}

// lock takes the locks of x. Behind a handler that was abandoned it would wait
// for ever: it waits for as long as the call itself may take.
func (d *Dispatcher) lock(ctx context.Context, locks *Locks, x *Execution) *Error {
	limit := d.MaxAbandoned
	if limit <= 0 {
		limit = 64
	}
	if n := d.Abandoned(); n >= limit {
		return &Error{Code: Unavailable, NotStarted: true, Message: "too many earlier calls ran over their time limit and have not returned; nothing new starts until they do"}
	}
	if locks.try(&x.lock) {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, x.Timeout)
	defer cancel()
	err := locks.wait(wait, &x.lock)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return canceledBeforeStart(ctx)
	}
	return &Error{Code: Unavailable, NotStarted: true, Cause: err, Message: "it did not start: after " + x.Timeout.String() + " it was still " + err.Error() + "; try again later"}
}

func canceledBeforeStart(ctx context.Context) *Error {
	return &Error{Code: Canceled, NotStarted: true, Cause: context.Cause(ctx), Message: "the turn was stopped before this call started; nothing was done"}
}
