package callgate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What a nested call's answer says about its start is not so of the call that
// passes it on: that handler was entered, and may have done something before. H210.
func TestNestedRefusalIsNotOwn(t *testing.T) {
	for how, pass := range map[string]func(Result) (Result, error){
		"its error":   func(r Result) (Result, error) { return Result{}, r.Err() },
		"wrapped":     func(r Result) (Result, error) { return Result{}, fmt.Errorf("saving: %w", r.Err()) },
		"the answer":  func(r Result) (Result, error) { return r, nil },
		"both at all": func(r Result) (Result, error) { return r, r.Err() },
	} {
		var runs atomic.Int32
		var d *Dispatcher
		r := registry(t, tool("inner", func(context.Context, Call) (Result, error) {
			return Result{}, NotSent(errors.New("connection refused"))
		}))
		outer := tool("outer", func(ctx context.Context, _ Call) (Result, error) {
			runs.Add(1)
			return pass(d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "inner"}))[0])
		})
		if err := r.Register(outer); err != nil {
			t.Fatal(err)
		}
		d = &Dispatcher{Policy: AllowAll, Middleware: []Middleware{Retry{Wait: 1}.Middleware()}}
		turn := Turn{Session: "s", Calls: []Call{{Name: "outer"}}}
		for range 2 {
			if got := d.Dispatch(t.Context(), r.Catalog(), turn)[0]; got.State != Unknown || got.Code != Unavailable || runs.Load() != 1 {
				t.Errorf("%s: %s, state %s after %d runs; want unavailable, unknown after 1", how, got, got.State, runs.Load())
			}
		}
	}
}

// A call that must run once is entered once, whatever a middleware does, unless
// its handler says that nothing was sent.
func TestMiddlewareCannotRepeatOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault error
		mod   func(Tool) Tool
		runs  int32
		code  Code
	}{
		{"once", errors.New("failed"), func(t Tool) Tool { return t }, 1, Internal},
		{"once, not sent", NotSent(errors.New("refused")), func(t Tool) Tool { return t }, 2, Unavailable},
		{"idempotent", errors.New("failed"), idempotent, 2, ExecutionError},
	} {
		var runs atomic.Int32
		r := registry(t, tt.mod(tool("t", func(context.Context, Call) (Result, error) { runs.Add(1); return Result{}, tt.fault })))
		d := Dispatcher{Policy: AllowAll, Middleware: []Middleware{func(_ *Execution, next Handler) Handler {
			return func(ctx context.Context, c Call) (Result, error) {
				_, _ = next(ctx, c)
				return next(ctx, c)
			}
		}}}
		got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t"}))[0]
		if got.Code != tt.code || runs.Load() != tt.runs || tt.code == Internal && got.State != Unknown {
			t.Errorf("%s: %s, state %s after %d runs", tt.name, got, got.State, runs.Load())
		}
	}
}

// Who leaves while the same call, submitted before, runs is not told that nothing
// was done: whether it waits for the record, or was itself refused meanwhile.
func TestRepetitionsTellTheTruth(t *testing.T) {
	for _, tt := range []struct {
		name    string
		verdict Verdict // on the repetition, two seconds after it came
		leaves  time.Duration
		code    Code
		state   State
	}{
		{"leaves while it waits for the record", Allow, 10 * time.Second, Canceled, Unknown},
		{"leaves while the policy thinks", Allow, 1500 * time.Millisecond, Canceled, Unknown},
		{"is denied, and answered from the record", Deny, time.Hour, "", Done},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := registry(t, slowly("t", "", false, time.Minute, nil))
			var asked atomic.Int32
			d := &Dispatcher{Policy: func(context.Context, Request) (Decision, error) {
				if asked.Add(1) == 1 {
					time.Sleep(time.Second)
					return Decision{Verdict: Allow}, nil
				}
				time.Sleep(2 * time.Second)
				return Decision{Verdict: tt.verdict}, nil
			}}
			turn := Turn{Session: "s", Calls: []Call{{Name: "t"}}}
			go d.Dispatch(t.Context(), r.Catalog(), turn)
			time.Sleep(time.Millisecond) // both are past Recall before the first one starts
			ctx, cancel := context.WithTimeout(t.Context(), tt.leaves)
			defer cancel()
			if got := d.Dispatch(ctx, r.Catalog(), turn)[0]; got.Code != tt.code || got.State != tt.state {
				t.Errorf("%s: %s, state %s", tt.name, got, got.State)
			}
			time.Sleep(time.Hour)
		})
	}
}

// deaf is an executor whose Recall heeds nothing.
type deaf struct{ Local }

func (*deaf) Recall(context.Context, *Execution) (Outcome, bool) {
	time.Sleep(time.Hour)
	return Outcome{}, false
}

// A turn ends when it is stopped, even in an executor that looks up its record
// for ever.
func TestRecallThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, tool("t", says("x")))
		d := Dispatcher{Policy: AllowAll, Executor: new(deaf)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		got := d.Dispatch(ctx, r.Catalog(), Turn{Session: "s", Calls: []Call{{Name: "t"}}})[0]
		if got.Code != OutcomeUnknown || got.State != Unknown || time.Since(start) != time.Minute+2*time.Second {
			t.Errorf("%s, state %s after %v", got, got.State, time.Since(start))
		}
		time.Sleep(2 * time.Hour)
	})
}
