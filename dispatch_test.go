package callgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tool returns a closed-world tool that writes everything, takes any object and
// runs fn.
func tool(name string, fn Handler) Tool {
	return Tool{
		Spec:    Spec{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: Annotations{OpenWorldHint: new(false)}},
		Handler: fn,
	}
}

func readOnly(t Tool) Tool {
	t.Annotations.ReadOnlyHint = true
	return t
}

func idempotent(t Tool) Tool {
	t.Annotations.IdempotentHint = true
	return t
}

func says(text string) Handler {
	return func(context.Context, Call) (Result, error) { return Text(text), nil }
}

func codesOf(results []Result) (codes []Code) {
	for _, r := range results {
		codes = append(codes, r.Code)
	}
	return codes
}

// H061, H098, H100, H102: whatever goes wrong with one call, each call has its
// result, in call order, and the siblings run.
func TestEveryCallHasItsResult(t *testing.T) {
	var nilMap map[string]int
	r := registry(t,
		tool("ok", says("fine")),
		tool("fails", func(context.Context, Call) (Result, error) { return Result{}, errors.New("disk on fire") }),
		tool("panics", func(context.Context, Call) (Result, error) { nilMap["x"] = 1; return Result{}, nil }),
		tool("panics_nil", func(context.Context, Call) (Result, error) { panic(any(nil)) }),
		tool("exits", func(context.Context, Call) (Result, error) { runtime.Goexit(); return Result{}, nil }),
		tool("both", func(context.Context, Call) (Result, error) {
			return Text("partial"), Errorf(Conflict, "changed since it was read")
		}),
		tool("silent", func(context.Context, Call) (Result, error) { return Result{}, nil }),
		readOnly(Tool{Spec: Spec{Name: "access_panics", InputSchema: json.RawMessage(`{}`), Annotations: Annotations{OpenWorldHint: new(false)}}, Handler: says("ran"),
			Access: func(json.RawMessage) []Access { panic("access") }}),
	)
	d := Dispatcher{Policy: AllowAll}
	names := []string{"ok", "fails", "nope", "panics", "panics_nil", "exits", "both", "silent", "access_panics", "ok"}
	var calls []Call
	for i, n := range names {
		calls = append(calls, Call{ID: fmt.Sprint("id", i), Name: n})
	}
	for range 2 { // a second dispatch works too
		got := d.Dispatch(t.Context(), r.Catalog(), Calls(calls...))
		want := []string{
			"fine",
			"Error [execution_error]: disk on fire",
			`Error [unknown_tool]: there is no tool named "nope"; use a tool from the list, such as "ok", "both", "fails"`,
			"Error [execution_error]: the tool crashed",
			"Error [execution_error]: the tool crashed",
			"Error [execution_error]: the tool ended without an answer",
			"Error [conflict]: changed since it was read\npartial",
			"(no output)",
			"ran",
			"fine",
		}
		for i := range want {
			if got[i].CallID != calls[i].ID || got[i].Tool != names[i] {
				t.Errorf("result %d answers %q of %q", i, got[i].CallID, got[i].Tool)
			}
			if got[i].ModelText() != want[i] {
				t.Errorf("%s: got %q, want %q", names[i], got[i].ModelText(), want[i])
			}
		}
	}
}

// The operator sees the cause and the stack; the model sees neither.
func TestPanicIsForTheOperator(t *testing.T) {
	r := registry(t, tool("panics", func(context.Context, Call) (Result, error) { panic("secret of the operator") }))
	var settled Event
	d := Dispatcher{Policy: AllowAll, Observers: []Observer{func(_ context.Context, e Event) {
		if e.Kind == Settled {
			settled = e
		}
	}}}
	got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "panics"}))[0]
	text, _ := json.Marshal(got)
	for _, leak := range []string{"secret", "goroutine", ".go:"} {
		if strings.Contains(string(text), leak) {
			t.Errorf("the result holds %q: %s", leak, text)
		}
	}
	if settled.Err == nil || !strings.Contains(settled.Err.Cause.Error(), "secret of the operator") || !strings.Contains(string(settled.Err.Stack), "dispatch_test.go") {
		t.Errorf("the operator's event has %+v", settled.Err)
	}
}

// Eight reads of 50 ms take the time of one; a ninth waits for a slot.
func TestReadsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := readOnly(tool("slow", func(context.Context, Call) (Result, error) { time.Sleep(50 * time.Millisecond); return Text("x"), nil }))
		r := registry(t, slow)
		var d Dispatcher
		for n, want := range map[int]time.Duration{8: 50 * time.Millisecond, 9: 100 * time.Millisecond} {
			calls := slices.Repeat([]Call{{Name: "slow"}}, n)
			start := time.Now()
			d.Dispatch(t.Context(), r.Catalog(), Calls(calls...))
			if took := time.Since(start); took != want {
				t.Errorf("%d reads of 50 ms took %v, want %v", n, took, want)
			}
		}
	})
}

// H096: what may run at once follows from effects, not from who was asked.
func TestWriteThenReadStayInOrder(t *testing.T) {
	for range 100 {
		text := "old"
		set := tool("set", func(context.Context, Call) (Result, error) { text = "new"; return Text("ok"), nil })
		get := readOnly(tool("get", func(context.Context, Call) (Result, error) { return Text(text), nil }))
		r := registry(t, set, get)
		d := Dispatcher{Policy: AllowAll}
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "set"}, Call{Name: "get"})); got[1].ModelText() != "new" {
			t.Fatalf("the read saw %q", got[1])
		}
	}
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleep := func(name string, d time.Duration) Tool {
			return readOnly(tool(name, func(ctx context.Context, _ Call) (Result, error) {
				select {
				case <-time.After(d):
					return Text(name), nil
				case <-ctx.Done():
					return Result{}, ctx.Err()
				}
			}))
		}
		r := registry(t, sleep("slow", 3*time.Second), sleep("quick", time.Second), sleep("middle", 2*time.Second))
		var d Dispatcher
		turn := Calls(Call{Name: "slow"}, Call{Name: "quick"}, Call{Name: "middle"})
		var order []int
		for i, res := range d.Stream(t.Context(), r.Catalog(), turn) {
			if res.ModelText() != turn.Calls[i].Name {
				t.Errorf("result %d is %q", i, res)
			}
			order = append(order, i)
		}
		if !slices.Equal(order, []int{1, 2, 0}) {
			t.Errorf("order of completion %v", order)
		}
		start := time.Now()
		for range d.Stream(t.Context(), r.Catalog(), turn) {
			break
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("leaving after the first result took %v", took)
		}
	})
}

// A handler may dispatch calls of its own, with the same dispatcher, while it
// holds its lock and its slot.
func TestNestedDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Registry
		var d Dispatcher
		d.Policy, d.Parallel = AllowAll, 1
		agent := tool("agent", func(ctx context.Context, _ Call) (Result, error) {
			res := d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "inner"}, Call{Name: "inner"}))
			return Text(res[0].ModelText() + res[1].ModelText()), nil
		})
		if err := r.Register(agent, tool("inner", says("i"))); err != nil {
			t.Fatal(err)
		}
		got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "agent"}, Call{Name: "agent"}))
		for _, g := range got {
			if g.ModelText() != "ii" {
				t.Errorf("got %q", g)
			}
		}
	})
}

// What a middleware, a policy or an approver does to the bytes that it is shown
// does not reach the handler.
func TestTheSameBytesRun(t *testing.T) {
	scribble := func(b []byte) {
		for i := range b {
			b[i] = 'x'
		}
	}
	r := registry(t, echo("t"))
	d := Dispatcher{
		Policy: func(_ context.Context, req Request) (Decision, error) {
			scribble(req.Call.Arguments)
			scribble(req.Spec.InputSchema)
			return Decision{Verdict: Ask}, nil
		},
		Approver: func(_ context.Context, req Request, _ Decision) (Answer, error) {
			scribble(req.Call.Arguments)
			return Answer{Approved: true}, nil
		},
		Middleware: []Middleware{func(_ *Execution, next Handler) Handler {
			return func(ctx context.Context, c Call) (Result, error) {
				return next(ctx, Call{Name: "other", Arguments: json.RawMessage(`{"evil":true}`)})
			}
		}},
	}
	const args = `{"path":"a","n":9007199254740993}`
	for range 2 {
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t", Arguments: json.RawMessage(args)}))[0]; got.ModelText() != args {
			t.Errorf("the handler saw %s", got)
		}
		if s, _ := r.Get("t"); string(s.InputSchema) != `{"type":"object"}` {
			t.Fatalf("the schema became %s", s.InputSchema)
		}
	}
}

// Each call tells its story in order: planned, decided, started, settled.
func TestEvents(t *testing.T) {
	var mu sync.Mutex
	story := map[int][]EventKind{}
	d := Dispatcher{Policy: AllowAll, Observers: []Observer{
		func(context.Context, Event) { panic("an observer can only watch") },
		func(_ context.Context, e Event) {
			mu.Lock()
			defer mu.Unlock()
			story[e.Call.Identity.Index] = append(story[e.Call.Identity.Index], e.Kind)
		},
	}}
	r := registry(t, tool("ok", says("x")))
	got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "ok"}, Call{Name: "nope"}))
	if got[0].Code != "" {
		t.Errorf("got %s", got[0])
	}
	if !slices.Equal(story[0], []EventKind{Planned, Decided, Started, Settled}) || !slices.Equal(story[1], []EventKind{Planned, Settled}) {
		t.Errorf("events %v", story)
	}
}

func BenchmarkDispatch(b *testing.B) {
	type args struct {
		Path string `json:"path"`
	}
	noop := Must(Func(Spec{Name: "noop", Annotations: Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)}},
		func(context.Context, args) (string, error) { return "ok", nil }))
	r := registry(b, noop)
	cat := r.Catalog()
	call := Call{ID: "1", Name: "noop", Arguments: json.RawMessage(`{"path":"internal/cli/dispatch_command.go"}`)}
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("calls=%d", n), func(b *testing.B) {
			var d Dispatcher
			turn := Calls(slices.Repeat([]Call{call}, n)...)
			b.ReportAllocs()
			for b.Loop() {
				if d.Dispatch(b.Context(), cat, turn)[0].Code != "" {
					b.Fatal("it failed")
				}
			}
		})
	}
}

// A call whose caller is gone is not started, whatever was free.
func TestNothingStartsAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := registry(t, readOnly(tool("t", func(context.Context, Call) (Result, error) { t.Error("it ran"); return Text("x"), nil })))
	for range 50 {
		var d Dispatcher
		if got := d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "t"}))[0]; got.Code != Canceled || got.State != NotStarted || !strings.Contains(got.Message, "before this call started") {
			t.Fatalf("got %s (%s)", got, got.State)
		}
	}
}

// Nor is it entered by a middleware that sleeps through the end of the call.
func TestMiddlewareThatOversleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Dispatcher{Policy: AllowAll, Middleware: []Middleware{func(_ *Execution, next Handler) Handler {
			return func(ctx context.Context, c Call) (Result, error) { time.Sleep(time.Hour); return next(ctx, c) }
		}}}
		one(t, &d, tool("t", func(context.Context, Call) (Result, error) { t.Error("it ran"); return Text("x"), nil }), "")
		time.Sleep(2 * time.Hour)
	})
}

// A call that gives up its wait, for a lock or for a slot, is in nobody's way.
func TestWaitsEndWithTheTurn(t *testing.T) {
	for _, other := range []string{"f:slow", "f:other"} { // waits for the lock; for the slot
		synctest.Test(t, func(t *testing.T) {
			r := registry(t, slowly("slow", "f:slow", true, 10*time.Second, nil), slowly("other", other, true, 0, nil))
			d := Dispatcher{Policy: AllowAll, Parallel: 1}
			go d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "slow"}))
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			if got := d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "other"}))[0]; got.Code != Canceled || time.Since(start) != time.Second {
				t.Errorf("behind %s: %s after %v", other, got, time.Since(start))
			}
			if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "other"}))[0]; got.Code != "" || time.Since(start) != 10*time.Second {
				t.Errorf("after that: %s after %v", got, time.Since(start))
			}
		})
	}
}

// The default limit of handlers that never return; and their return is told even
// if the turn is over.
func TestAbandonedDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := readOnly(tool("stuck", func(context.Context, Call) (Result, error) { time.Sleep(time.Hour); return Text("x"), nil }))
		r := registry(t, stuck, readOnly(tool("ok", says("x"))))
		var returned atomic.Int32
		d := Dispatcher{Parallel: 64, Observers: []Observer{func(ctx context.Context, e Event) {
			if e.Kind == Returned && ctx.Err() == nil {
				returned.Add(1)
			}
		}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d.Dispatch(ctx, r.Catalog(), Calls(slices.Repeat([]Call{{Name: "stuck"}}, 64)...))
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "ok"}))[0]; got.Code != Unavailable {
			t.Errorf("with %d abandoned: %s", d.Abandoned(), got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if returned.Load() != 64 {
			t.Errorf("%d returns were told", returned.Load())
		}
	})
}

// Without a catalog there are no tools; more calls than anybody proposes are not
// compared with each other.
func TestStrangeTurns(t *testing.T) {
	var d Dispatcher
	for _, res := range d.Stream(t.Context(), nil, Calls(Call{Name: "t"})) {
		if res.Code != UnknownTool {
			t.Errorf("without a catalog: %s", res)
		}
	}
	if got := d.Dispatch(t.Context(), nil, Turn{}); len(got) != 0 {
		t.Errorf("no calls: %v", got)
	}
	r := registry(t, echo("t"))
	got := d.Dispatch(t.Context(), r.Catalog(), Calls(slices.Repeat([]Call{{ID: "same", Name: "t"}}, 10_000)...))
	for i, res := range got {
		if want := map[bool]Code{true: "", false: BudgetExceeded}[i < 512]; res.Code != want || res.CallID != "same" || res.Code != "" && res.State != NotStarted {
			t.Fatalf("call %d: %s (%s)", i, res, res.State)
		}
	}
}

// Limits that stand for ever do not overflow into none at all.
func TestEndlessLimits(t *testing.T) {
	forever := tool("t", func(ctx context.Context, _ Call) (Result, error) {
		time.Sleep(time.Millisecond)
		return Text("x"), ctx.Err()
	})
	for _, ms := range []int64{0, 1<<63 - 1, 1 << 62, 1<<63/1_000_000 + 1} {
		forever.TimeoutMS = ms
		for _, grace := range []time.Duration{1<<63 - 1, 1 << 62} {
			d := Dispatcher{Executor: new(Local), Timeout: 1<<63 - 1, Grace: grace}
			if got := one(t, &d, forever, ""); got.Code != "" {
				t.Errorf("timeoutMs %d, grace %v: %s", ms, grace, got)
			}
		}
	}
	if got := (&Spec{TimeoutMS: 1<<64/1_000_000 + 1}).Timeout(); got < 24*time.Hour {
		t.Errorf("600 years became %v", got)
	}
}

// An observer that ends its goroutine costs no sibling its result.
func TestObserverThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, tool("t", says("x")))
		d := Dispatcher{Policy: AllowAll, Observers: []Observer{func(_ context.Context, e Event) {
			if e.Kind == Planned && e.Call.Identity.Index == 0 {
				runtime.Goexit()
			}
		}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := d.Dispatch(ctx, r.Catalog(), Calls(Call{ID: "a", Name: "t"}, Call{ID: "b", Name: "t"}))
		if c := codesOf(got); !slices.Equal(c, []Code{Internal, ""}) || got[0].CallID != "a" {
			t.Errorf("results %+v", got)
		}
	})
}

// A panic in the loop over a Stream stops what still runs.
func TestStreamPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		r := registry(t, readOnly(tool("waits", func(ctx context.Context, _ Call) (Result, error) {
			<-ctx.Done()
			close(stopped)
			return Result{}, ctx.Err()
		})), slowly("ok", "", false, time.Second, nil))
		var d Dispatcher
		start := time.Now()
		func() {
			defer func() { recover() }()
			for range d.Stream(t.Context(), r.Catalog(), Calls(Call{Name: "waits"}, Call{Name: "ok"})) {
				panic("p")
			}
		}()
		if <-stopped; time.Since(start) != time.Second {
			t.Errorf("stopped after %v", time.Since(start))
		}
	})
}
