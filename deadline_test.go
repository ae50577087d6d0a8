package callgate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// H209: no answer in time has a code of its own, which is not that of a call that
// was refused before it started, and says to check before repeating.
func TestTimeout(t *testing.T) {
	obeys := func(ctx context.Context, _ Call) (Result, error) {
		<-ctx.Done()
		return Text("so far"), ctx.Err()
	}
	finishesLate := func(ctx context.Context, _ Call) (Result, error) {
		<-ctx.Done()
		time.Sleep(500 * time.Millisecond)
		return Text("all done"), nil
	}
	ignores := func(context.Context, Call) (Result, error) {
		time.Sleep(time.Hour)
		return Text("all done"), nil
	}
	for _, tt := range []struct {
		name    string
		handler Handler
		after   time.Duration // when the answer comes
		says    string
		content string
		state   State
	}{
		{"a handler that obeys returns its partial output", obeys, time.Minute, "no answer within 1m0s: it was stopped; the call may have taken effect", "so far", Unknown},
		{"success after the deadline is no success", finishesLate, time.Minute + 500*time.Millisecond, "finished only after", "all done", Unknown},
		{"a handler that ignores its deadline is answered for", ignores, time.Minute + time.Second, "did not stop", "", Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := tool("slow", tt.handler)
				slow.TimeoutMS = 60_000
				r := registry(t, slow)
				d := Dispatcher{Policy: AllowAll}
				start := time.Now()
				got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "slow"}))[0]
				if got.Code != Timeout || got.State != tt.state || !strings.Contains(got.Message, tt.says) || got.ContentText() != tt.content {
					t.Errorf("got %s (%s)", got, got.State)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("answered after %v, want %v", took, tt.after)
				}
				time.Sleep(2 * time.Hour) // let the abandoned come back
				synctest.Wait()
				if n := d.Abandoned(); n != 0 {
					t.Errorf("%d handlers still counted as abandoned", n)
				}
			})
		})
	}
}

// A caller's own deadline is the caller's, not the tool's: the model is not told
// of a limit that was never reached.
func TestCallersDeadline(t *testing.T) {
	for name, handler := range map[string]Handler{
		"obeys": func(ctx context.Context, _ Call) (Result, error) { <-ctx.Done(); return Result{}, ctx.Err() },
		"wraps": func(ctx context.Context, _ Call) (Result, error) {
			<-ctx.Done()
			return Result{}, fmt.Errorf("read: %w", ctx.Err())
		},
		"ignores": func(ctx context.Context, _ Call) (Result, error) { time.Sleep(time.Hour); return Result{}, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := registry(t, tool("slow", handler))
			d := Dispatcher{Policy: AllowAll}
			got := d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "slow"}))[0]
			if got.Code != Canceled || strings.Contains(got.Message, "2m0s") || got.State != Stopped {
				t.Errorf("%s: %s (%s)", name, got, got.State)
			}
			time.Sleep(2 * time.Hour)
		})
	}
}

// A handler that outlives its deadline keeps its locks until it returns: who
// waits behind it is told so at its own deadline, and others are not held up.
func TestAbandonedKeepsItsLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		touches := func(key string, t Tool) Tool {
			t.Access = func(json.RawMessage) []Access { return []Access{{key, true}} }
			t.TimeoutMS = 10_000
			return t
		}
		r := registry(t,
			touches("f:a", tool("stuck", func(context.Context, Call) (Result, error) { time.Sleep(time.Minute); return Text("x"), nil })),
			touches("f:a", tool("behind", says("ran"))),
			touches("f:b", tool("beside", says("ran"))))
		var returned atomic.Int32
		d := Dispatcher{Policy: AllowAll, Observers: []Observer{func(_ context.Context, e Event) {
			if e.Kind == Returned {
				returned.Add(1)
			}
		}}}
		start := time.Now()
		got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "stuck"}, Call{Name: "behind"}, Call{Name: "beside"}))
		if c := codesOf(got); !slices.Equal(c, []Code{Timeout, Unavailable, ""}) {
			t.Fatalf("codes %q", c)
		}
		if got[1].State != NotStarted || !strings.Contains(got[1].Message, "stuck") {
			t.Errorf("who waited is told %q (%s)", got[1], got[1].State)
		}
		if took := time.Since(start); took != 21*time.Second { // 10 + 1 of grace + 10
			t.Errorf("the turn took %v", took)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if returned.Load() != 1 {
			t.Error("nobody was told that the handler came back")
		}
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "behind"}))[0]; got.Code != "" {
			t.Errorf("after the handler returned: %s", got)
		}
	})
}

// Handlers that never return are bounded: above the limit nothing starts.
func TestTooManyAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := readOnly(tool("stuck", func(context.Context, Call) (Result, error) { <-release; return Text("x"), nil }))
		stuck.TimeoutMS = 1
		r := registry(t, stuck, readOnly(tool("ok", says("fine"))))
		d := Dispatcher{MaxAbandoned: 2}
		d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "stuck"}, Call{Name: "stuck"}))
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "ok"}))[0]; got.Code != Unavailable || got.State != NotStarted {
			t.Errorf("with two abandoned: %s", got)
		}
		close(release)
		synctest.Wait()
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "ok"}))[0]; got.Code != "" {
			t.Errorf("after they returned: %s", got)
		}
	})
}

// H064: a cancel in the middle of a batch. What ran keeps its real result; what
// did not start is said not to have started.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := registry(t,
			tool("fast", says("real")),
			tool("blocks", func(ctx context.Context, _ Call) (Result, error) {
				cancel()
				<-ctx.Done()
				return Text("half"), ctx.Err()
			}),
			tool("later", says("ran")))
		d := Dispatcher{Policy: AllowAll}
		got := d.Dispatch(ctx, r.Catalog(), Calls(Call{ID: "a", Name: "fast"}, Call{ID: "b", Name: "blocks"}, Call{ID: "c", Name: "later"}))
		if c := codesOf(got); !slices.Equal(c, []Code{"", Canceled, Canceled}) {
			t.Fatalf("codes %q", c)
		}
		if got[0].ModelText() != "real" {
			t.Errorf("the finished call became %q", got[0])
		}
		if got[1].State != Stopped || got[1].ContentText() != "half" || !strings.Contains(got[1].Message, "check what was done") {
			t.Errorf("the running call became %q (%s)", got[1], got[1].State)
		}
		if got[2].State != NotStarted || got[2].Attempts != 0 || got[2].Status() != Blocked {
			t.Errorf("the waiting call became %q (%s)", got[2], got[2].State)
		}
	})
}
