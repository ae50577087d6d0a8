package callgate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// H208, H210: what is tried again, and how often.
func TestRetry(t *testing.T) {
	unavailable := Errorf(Unavailable, "connection reset")
	for _, tt := range []struct {
		name     string
		mod      func(Tool) Tool
		fault    error
		attempts int
	}{
		{"once-only, nothing was sent", nil, NotSent(errors.New("connection refused")), 3},
		{"once-only, the connection was lost", nil, unavailable, 1},
		{"once-only, no answer in time", nil, Errorf(Timeout, "no answer"), 1},
		{"once-only, it may have run", nil, Errorf(OutcomeUnknown, "lost"), 1},
		{"idempotent, the connection was lost", idempotent, unavailable, 3},
		{"idempotent, no answer in time", idempotent, Errorf(Timeout, "no answer"), 3},
		{"read-only, the connection was lost", readOnly, unavailable, 3},
		{"read-only, it succeeded", readOnly, nil, 1},
		{"read-only, it failed", readOnly, errors.New("no such file"), 1},
		{"read-only, a conflict", readOnly, Errorf(Conflict, "changed"), 1},
		{"once-only, refused before anything was done", nil, NotSent(Errorf(PermissionDenied, "token expired")), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var keys []string
				w := tool("w", func(_ context.Context, c Call) (Result, error) {
					keys = append(keys, c.Identity.Key())
					return Result{}, tt.fault
				})
				if tt.mod != nil {
					w = tt.mod(w)
				}
				r := registry(t, w)
				d := Dispatcher{Policy: AllowAll, Middleware: []Middleware{Retry{}.Middleware()}}
				start := time.Now()
				got := d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Calls: []Call{{Name: "w"}}})[0]
				if len(keys) != tt.attempts || got.Attempts != tt.attempts || got.Code != CodeOf(tt.fault) {
					t.Errorf("%d attempts, result %+v", len(keys), got)
				}
				if len(slices.Compact(slices.Clone(keys))) != 1 || keys[0] == "" {
					t.Errorf("attempts had the keys %q", keys)
				}
				took := time.Since(start)
				if tt.attempts == 3 && (took < 300*time.Millisecond || took > 600*time.Millisecond) { // half to all of 200 + 400 ms
					t.Errorf("three attempts took %v", took)
				}
			})
		})
	}
}

// The state of a failed call says what is known: "nothing was done" only if the
// handler says so.
func TestStateOfFailures(t *testing.T) {
	for _, tt := range []struct {
		fault error
		state State
	}{
		{NotSent(errors.New("refused")), NotStarted},
		{Errorf(Unavailable, "connection lost"), Unknown},
		{Errorf(OutcomeUnknown, "lost"), Unknown},
		{Errorf(Timeout, "no answer"), Unknown},
		{errors.New("failed"), Done},
		{Errorf(Conflict, "changed"), Done},
	} {
		r := registry(t, tool("w", func(context.Context, Call) (Result, error) { return Result{}, tt.fault }))
		d := Dispatcher{Policy: AllowAll}
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "w"}))[0]; got.State != tt.state {
			t.Errorf("%v: state %s, want %s", tt.fault, got.State, tt.state)
		}
	}
}

// The deadline of the call bounds all attempts together.
func TestRetryHeedsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := readOnly(tool("w", func(ctx context.Context, _ Call) (Result, error) {
			time.Sleep(900 * time.Millisecond)
			return Result{}, Errorf(Unavailable, "down")
		}))
		w.TimeoutMS = 1000
		r := registry(t, w)
		d := Dispatcher{Middleware: []Middleware{Retry{Attempts: 100}.Middleware()}}
		start := time.Now()
		got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "w"}))[0]
		if took := time.Since(start); took > 2*time.Second || got.Code != Timeout && got.Code != Unavailable {
			t.Errorf("%s after %v", got, took)
		}
	})
}

// MaxWait bounds the first wait too.
func TestRetryMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := Dispatcher{Middleware: []Middleware{Retry{Attempts: 2, Wait: time.Minute, MaxWait: time.Second}.Middleware()}}
		if one(t, &d, readOnly(tool("t", returns(Result{}, Errorf(Unavailable, "down")))), ""); time.Since(start) > time.Second {
			t.Errorf("two attempts took %v", time.Since(start))
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, runs := true, 0
		s := &source{tools: []Tool{
			tool("x", func(context.Context, Call) (Result, error) {
				runs++
				if down {
					return Result{}, Errorf(Unavailable, "no route")
				}
				return Text("up"), nil
			}),
			tool("slow", func(context.Context, Call) (Result, error) { time.Sleep(time.Second); return Text("up"), nil }),
			tool("wrong", func(context.Context, Call) (Result, error) { return Result{}, errors.New("bad request") })}}
		r := registry(t, tool("local", says("fine")))
		if err := r.Mount("mcp__s__", s); err != nil {
			t.Fatal(err)
		}
		b := &Breaker{Failures: 3, Pause: time.Minute}
		d := Dispatcher{Policy: AllowAll, Middleware: []Middleware{b.Middleware()}}
		call := func(name string) Result {
			return d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: name}))[0]
		}
		for range 5 {
			call("mcp__s__wrong") // a failure of the tool is none of the source
		}
		for range 5 {
			if got := call("mcp__s__x"); got.Code != Unavailable {
				t.Fatalf("got %s", got)
			}
		}
		if runs != 3 {
			t.Errorf("a source that is down was called %d times, want 3", runs)
		}
		if got := call("mcp__s__x"); got.State != NotStarted || !strings.Contains(got.Message, "1m0s") {
			t.Errorf("open circuit: %s (%s)", got, got.State)
		}
		if got := call("local"); got.Code != "" {
			t.Errorf("another source: %s", got)
		}
		time.Sleep(time.Minute)
		call("mcp__s__x") // the probe fails: closed for another minute
		call("mcp__s__x")
		if runs != 4 {
			t.Errorf("%d calls after the pause, want one probe", runs-3)
		}
		time.Sleep(time.Minute)
		results := make(chan Code, 2)
		for range 2 {
			go func() {
				d := Dispatcher{Policy: AllowAll, Middleware: d.Middleware}
				results <- d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "mcp__s__slow"}))[0].Code
			}()
		}
		if got := []Code{<-results, <-results}; got[0] != Unavailable || got[1] != "" {
			t.Errorf("two calls at once after the pause: %q, want one probe", got)
		}
		for range 3 {
			call("mcp__s__x")
		}
		time.Sleep(time.Minute)
		down = false
		if got := call("mcp__s__x"); got.Code != "" {
			t.Errorf("the probe: %s", got)
		}
		if got := call("mcp__s__x"); got.Code != "" {
			t.Errorf("after the probe: %s", got)
		}
	})
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := registry(t, tool("t", func(context.Context, Call) (Result, error) { runs++; return Text("x"), nil }))
		for _, tt := range []struct {
			budget *Budget
			use    func(*Budget)
			says   string
		}{
			{&Budget{Calls: 2}, func(*Budget) {}, "2 calls"},
			{&Budget{Tokens: 100}, func(b *Budget) { b.Spend(60) }, "100 tokens"},
			{&Budget{Time: time.Minute}, func(*Budget) { time.Sleep(30 * time.Second) }, "1m0s"},
		} {
			runs = 0
			d := Dispatcher{Policy: AllowAll, Middleware: []Middleware{tt.budget.Middleware()}}
			for range 2 {
				if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t"}))[0]; got.Code != "" {
					t.Errorf("within the budget: %s", got)
				}
				tt.use(tt.budget)
			}
			got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t"}))[0]
			if got.Code != BudgetExceeded || got.State != NotStarted || !strings.Contains(got.Message, tt.says) || runs != 2 {
				t.Errorf("over the budget, after %d runs: %s (%s)", runs, got, got.State)
			}
			if calls, _, _ := tt.budget.Used(); calls != 2 {
				t.Errorf("%d calls are counted, 2 ran", calls)
			}
			if err := tt.budget.Exceeded(); !errors.Is(err, BudgetExceeded) {
				t.Errorf("Exceeded: %v", err)
			}
		}
		if calls, _, _ := (&Budget{}).Used(); calls != 0 || (&Budget{}).Exceeded() != nil {
			t.Error("the zero budget is used up")
		}
	})
}

// The first middleware is outermost.
func TestMiddlewareOrder(t *testing.T) {
	var order []string
	named := func(name string) Middleware {
		return func(_ *Execution, next Handler) Handler {
			return func(ctx context.Context, c Call) (Result, error) { order = append(order, name); return next(ctx, c) }
		}
	}
	one(t, &Dispatcher{Middleware: []Middleware{named("a"), named("b")}}, tool("t", says("x")), "")
	if !slices.Equal(order, []string{"a", "b"}) {
		t.Errorf("order %q", order)
	}
}

// A cancel ends the pause between two attempts; pauses differ; a failure counts
// whether it is an error or a code.
func TestRetryPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := registry(t, readOnly(tool("t", returns(Result{Code: Unavailable}, nil))))
		d := Dispatcher{Middleware: []Middleware{Retry{Attempts: 2, Wait: time.Minute, MaxWait: time.Minute}.Middleware()}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if got := d.Dispatch(ctx, down.Catalog(), Calls(Call{Name: "t"}))[0]; time.Since(start) != time.Second || got.Attempts != 1 {
			t.Errorf("%d attempts in %v", got.Attempts, time.Since(start))
		}
		pauses := map[time.Duration]bool{}
		for range 10 {
			start := time.Now()
			if got := d.Dispatch(t.Context(), down.Catalog(), Calls(Call{Name: "t"}))[0]; got.Attempts != 2 {
				t.Errorf("%d attempts", got.Attempts)
			}
			pauses[time.Since(start)] = true
		}
		if len(pauses) < 5 {
			t.Errorf("ten pauses: %v", pauses)
		}
	})
}

// Local tools have a circuit each, which opens after five failures, be they errors
// or codes.
func TestBreakerOfLocalTools(t *testing.T) {
	runs := 0
	r := registry(t, tool("down", func(context.Context, Call) (Result, error) { runs++; return Result{Code: Unavailable}, nil }), tool("up", says("x")))
	d := Dispatcher{Policy: AllowAll, Middleware: []Middleware{new(Breaker).Middleware()}}
	for range 8 {
		d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "down"}))
	}
	if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "up"}))[0]; runs != 5 || got.Code != "" {
		t.Errorf("%d runs; the other tool: %s", runs, got)
	}
}
