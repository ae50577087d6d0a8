package callgate

import (
	"context"
	"time"
)

// An EventKind says which arrow of a call's road an [Event] tells of.
type EventKind string

const (
	Planned  EventKind = "planned"  // looked up, validated, ordered; Err holds a refusal
	Decided  EventKind = "decided"  // a policy, and perhaps a person, decided; Err holds a refusal
	Started  EventKind = "started"  // the handler is about to be entered; Attempt counts from 1
	Settled  EventKind = "settled"  // the call has its result: exactly one for each call
	Returned EventKind = "returned" // a handler that had been abandoned came back, and its locks are free
)

// An Event tells what happened to one call.
type Event struct {
	Kind     EventKind
	Time     time.Time
	Call     Call      // with its identity; not to be modified
	Tool     *Tool     // nil for an unknown tool; not to be modified
	Decision *Decision // with Decided, and with Settled: zero for a call that was refused before it
	Attempt  int       // with Started
	Result   *Result   // with Settled; not to be modified
	Err      *Error    // the failure with its cause and stack, for the operator
}

// An Observer is told of every event, in order for each call, from the
// goroutine of that call: it must be quick and safe for concurrent use. It can
// only watch: what it does, panics included, changes no outcome.
type Observer func(ctx context.Context, e Event)

func (d *Dispatcher) observe(ctx context.Context, e Event) {
	if len(d.Observers) == 0 {
		return
	}
	e.Time = time.Now()
	for _, o := range d.Observers {
		func() {
			defer func() { _ = recover() }()
			o(ctx, e)
		}()
	}
}
