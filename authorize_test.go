package callgate

import (
	"context"
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

func decides(v Verdict) Policy {
	return func(context.Context, Request) (Decision, error) {
		return Decision{Verdict: v, Rule: "rule.x", Reason: "because"}, nil
	}
}

func answers(a Answer, err error) Approver {
	return func(context.Context, Request, Decision) (Answer, error) { return a, err }
}

// Anything but a clear yes is a no, and a no runs nothing.
func TestAuthorize(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   Policy
		approver Approver
		code     Code
		says     string
	}{
		{"allow", decides(Allow), nil, "", ""},
		{"deny", decides(Deny), answers(Answer{Approved: true}, nil), PermissionDenied, "because (rule rule.x)"},
		{"the zero decision", func(context.Context, Request) (Decision, error) { return Decision{}, nil }, nil, PermissionDenied, "does not allow"},
		{"ask, with nobody to ask", decides(Ask), nil, PermissionDenied, "nobody can be asked: because"},
		{"ask, yes", decides(Ask), answers(Answer{Approved: true}, nil), "", ""},
		{"ask, no", decides(Ask), answers(Answer{}, nil), ApprovalRejected, "declined"},
		{"ask, no with words", decides(Ask), answers(Answer{Message: "use the other file"}, nil), ApprovalRejected, "use the other file"},
		{"the approver fails", decides(Ask), answers(Answer{Approved: true}, errors.New("terminal gone")), ApprovalRejected, "could not be obtained"},
		{"the approver asks nobody", decides(Ask), answers(Answer{Approved: true}, &Error{Code: Unavailable, Message: "the session is in use"}), Unavailable, "the session is in use"},
		{"the approver fails with another code", decides(Ask), answers(Answer{Approved: true}, &Error{Code: Timeout, Message: "late"}), ApprovalRejected, "could not be obtained"},
		{"the approver panics", decides(Ask), func(context.Context, Request, Decision) (Answer, error) { panic("p") }, ApprovalRejected, "could not be obtained"},
		{"the policy fails", func(context.Context, Request) (Decision, error) {
			return Decision{Verdict: Allow}, errors.New("rules unreadable")
		}, nil, PermissionDenied, "check failed"},
		{"the policy panics", func(context.Context, Request) (Decision, error) { panic("p") }, nil, PermissionDenied, "check failed"},
		{"the policy hangs", func(ctx context.Context, _ Request) (Decision, error) {
			time.Sleep(time.Hour)
			return Decision{Verdict: Allow}, nil
		}, nil, PermissionDenied, "check failed"},
		{"a verdict that is none", decides(Verdict(7)), nil, PermissionDenied, "check failed"},
		{"no policy: a local read", nil, nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				r := registry(t, readOnly(tool("t", func(context.Context, Call) (Result, error) { runs.Add(1); return Text("x"), nil })))
				d := Dispatcher{Policy: tt.policy, Approver: tt.approver}
				got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t"}))[0]
				if got.Code != tt.code || !strings.Contains(got.Message, tt.says) {
					t.Errorf("got %s, want %s with %q", got, tt.code, tt.says)
				}
				if ran := runs.Load() == 1; ran != (tt.code == "") {
					t.Errorf("the handler ran %d times", runs.Load())
				}
				if tt.code != "" && (got.State != NotStarted || got.Status() != Blocked) {
					t.Errorf("state %s, status %s", got.State, got.Status())
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// Without a policy, local tools that are annotated read-only run and no others:
// a server's word for it counts for nothing.
func TestZeroDispatcher(t *testing.T) {
	r := registry(t, readOnly(tool("reads", says("x"))), tool("writes", says("x")))
	if err := r.Mount("mcp__s__", &source{tools: []Tool{readOnly(tool("reads", says("x")))}}); err != nil {
		t.Fatal(err)
	}
	var d Dispatcher
	got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "reads"}, Call{Name: "writes"}, Call{Name: "mcp__s__reads"}))
	if c := codesOf(got); !slices.Equal(c, []Code{"", PermissionDenied, PermissionDenied}) {
		t.Errorf("codes %q", c)
	}
}

// People are asked about one call at a time, in the model's order, while calls
// that need no asking run; an answer can settle the asks that come after it.
func TestAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []int
		var open, freeDone atomic.Int32
		var always atomic.Bool
		slow := readOnly(tool("slow", func(context.Context, Call) (Result, error) { time.Sleep(time.Second); return Text("x"), nil }))
		free := readOnly(tool("free", func(context.Context, Call) (Result, error) { freeDone.Add(1); return Text("x"), nil }))
		r := registry(t, slow, free)
		d := Dispatcher{
			Policy: func(_ context.Context, req Request) (Decision, error) {
				if req.Call.Name == "free" || always.Load() {
					return Decision{Verdict: Allow}, nil
				}
				// The later the call, the sooner its verdict: order must not come from speed.
				time.Sleep(time.Duration(10-req.Call.Identity.Index) * time.Millisecond)
				return Decision{Verdict: Ask}, nil
			},
			Approver: func(_ context.Context, req Request, _ Decision) (Answer, error) {
				if open.Add(1) != 1 {
					t.Error("two asks at once")
				}
				defer open.Add(-1)
				time.Sleep(time.Minute)
				if freeDone.Load() != 2 {
					t.Error("calls that need no asking wait for one that does")
				}
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, req.Call.Identity.Index)
				if len(asked) == 3 {
					always.Store(true)
				}
				return Answer{Approved: true, By: "me"}, nil
			},
		}
		names := []string{"slow", "free", "slow", "slow", "slow", "free", "slow"}
		var calls []Call
		for i, n := range names {
			calls = append(calls, Call{ID: fmt.Sprint(i), Name: n})
		}
		for _, res := range d.Dispatch(t.Context(), r.Catalog(), Calls(calls...)) {
			if res.Code != "" {
				t.Errorf("%s: %s", res.CallID, res)
			}
		}
		if !slices.Equal(asked, []int{0, 2, 3}) {
			t.Errorf("asked about %v", asked)
		}
	})
}

// The verdict is taken when the call could start, not when the turn arrives.
func TestVerdictIsTakenLate(t *testing.T) {
	var trusted atomic.Bool
	r := registry(t,
		tool("trust", func(context.Context, Call) (Result, error) { trusted.Store(true); return Text("x"), nil }),
		tool("act", says("ran")))
	d := Dispatcher{Policy: func(_ context.Context, req Request) (Decision, error) {
		if req.Call.Name == "trust" || trusted.Load() {
			return Decision{Verdict: Allow}, nil
		}
		return Decision{}, nil
	}}
	if c := codesOf(d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "act"}, Call{Name: "trust"}, Call{Name: "act"}))); !slices.Equal(c, []Code{PermissionDenied, "", ""}) {
		t.Errorf("codes %q", c)
	}
}

// A cancel ends the wait for a person.
func TestCancelDuringAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := registry(t, tool("t", says("ran")))
		d := Dispatcher{Policy: decides(Ask), Approver: func(ctx context.Context, _ Request, _ Decision) (Answer, error) {
			<-ctx.Done()
			return Answer{Approved: true}, nil // too late
		}}
		for _, got := range d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "t"}, Call{Name: "t"})) {
			if got.Code != Canceled || got.State != NotStarted {
				t.Errorf("got %s (%s)", got, got.State)
			}
		}
	})
}

// decided dispatches one call and returns the event that tells of the decision.
func decided(t *testing.T, ctx context.Context, d *Dispatcher) (Result, Event) {
	var e Event
	d.Observers = []Observer{func(_ context.Context, got Event) {
		if got.Kind == Decided {
			e = got
		}
	}}
	return d.Dispatch(ctx, registry(t, tool("t", says("ran"))).Catalog(), Calls(Call{Name: "t"}))[0], e
}

// The operator sees who approved and what crashed.
func TestDecisionsAreOnRecord(t *testing.T) {
	for by, want := range map[string]string{"ann": "ann", "": "approver"} {
		_, e := decided(t, t.Context(), &Dispatcher{Policy: decides(Ask), Approver: answers(Answer{Approved: true, By: by}, nil)})
		if e.Decision.By != want || e.Decision.Verdict != Allow || e.Time.IsZero() {
			t.Errorf("approved by %q: %+v at %v", by, e.Decision, e.Time)
		}
	}
	crash := func(context.Context, Request) (Decision, error) { panic("p") }
	if _, e := decided(t, t.Context(), &Dispatcher{Policy: crash}); !strings.Contains(string(e.Err.Stack), "authorize_test.go") {
		t.Errorf("a policy that panics: %+v", e.Err)
	}
	if _, e := decided(t, t.Context(), &Dispatcher{Policy: decides(Ask), Approver: func(context.Context, Request, Decision) (Answer, error) { panic("p") }}); !strings.Contains(string(e.Err.Stack), "authorize_test.go") {
		t.Errorf("an approver that panics: %+v", e.Err)
	}
	for range 20 { // a yes that comes with the end of the turn is none
		ctx, cancel := context.WithCancel(t.Context())
		got, e := decided(t, ctx, &Dispatcher{Policy: decides(Ask), Approver: func(context.Context, Request, Decision) (Answer, error) {
			cancel()
			return Answer{Approved: true}, nil
		}})
		if got.Code != Canceled || e.Decision.Verdict == Allow {
			t.Fatalf("approved after the end: %s, %+v", got, e.Decision)
		}
	}
}

// What the policy says is text from outside: rules quote arguments.
func TestReasonIsClean(t *testing.T) {
	got := one(t, &Dispatcher{Policy: func(context.Context, Request) (Decision, error) {
		return Decision{Reason: "not\x1b[31m that\xff"}, nil
	}}, tool("t", says("x")), "")
	if !strings.HasPrefix(got.Message, "not that\ufffd") {
		t.Errorf("message %q", got.Message)
	}
}

// An approver that reads from a terminal does not heed ctx: its turn ends all the
// same, and nobody else is asked while it reads. One that ends its goroutine has
// not approved.
func TestApproverThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		r := registry(t, tool("t", says("ran")))
		d := Dispatcher{Policy: decides(Ask), Approver: func(context.Context, Request, Decision) (Answer, error) {
			if asked.Add(1) == 1 {
				time.Sleep(time.Hour)
			}
			return Answer{Approved: true}, nil
		}}
		turn := func(d *Dispatcher, limit time.Duration) (Result, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start := time.Now()
			return d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "t"}))[0], time.Since(start)
		}
		if got, took := turn(&d, time.Minute); got.Code != Canceled || got.State != NotStarted || took != time.Minute {
			t.Errorf("the first turn: %s after %v", got, took)
		}
		if got, _ := turn(&d, time.Minute); got.Code != Canceled || asked.Load() != 1 {
			t.Errorf("while the person is still asked: %s, %d asks", got, asked.Load())
		}
		if got, took := turn(&d, 2*time.Hour); got.Code != "" || took != 58*time.Minute {
			t.Errorf("after the approver returned: %s after %v", got, took)
		}
		exits := Dispatcher{Policy: decides(Ask), Approver: func(context.Context, Request, Decision) (Answer, error) {
			runtime.Goexit()
			return Answer{Approved: true}, nil
		}}
		if got, _ := turn(&exits, time.Minute); got.Code != ApprovalRejected {
			t.Errorf("an approver that exits: %s", got)
		}
	})
}

// A person is asked while an earlier call that needed no asking still runs.
func TestAskDoesNotWaitForRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := registry(t, readOnly(tool("runs", func(context.Context, Call) (Result, error) { time.Sleep(time.Minute); return Text("x"), nil })), readOnly(tool("asks", says("x"))))
		d := Dispatcher{
			Policy: func(_ context.Context, req Request) (Decision, error) {
				return Decision{Verdict: map[string]Verdict{"runs": Allow, "asks": Ask}[req.Call.Name]}, nil
			},
			Approver: func(context.Context, Request, Decision) (Answer, error) {
				if took := time.Since(start); took != 0 {
					t.Errorf("asked after %v", took)
				}
				return Answer{Approved: true}, nil
			},
		}
		d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "runs"}, Call{Name: "asks"}))
	})
}

// A policy that decides when its caller is gone decided nothing, and what it does
// to the list of what the call touches stays with it.
func TestPolicyAfterTheEnd(t *testing.T) {
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		got, _ := decided(t, ctx, &Dispatcher{Policy: func(_ context.Context, req Request) (Decision, error) {
			req.Access[0] = Access{}
			cancel()
			return Decision{}, nil
		}})
		if got.Code != Canceled || !writesAll[0].Write {
			t.Fatalf("%s, undeclared access %v", got, writesAll)
		}
	}
}
