package callgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// counter is a once-only tool that counts its runs, each of which takes a second.
func counter(n *atomic.Int32) Tool {
	return tool("count", func(ctx context.Context, c Call) (Result, error) {
		n.Add(1)
		select {
		case <-time.After(time.Second):
			return Text(string(c.Arguments)), nil
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	})
}

// The same turn submitted again, while the pool is full and after it has
// settled, runs each call once, and all submitters get the same answers.
func TestSameTurnRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		r := registry(t, counter(&runs))
		d := Dispatcher{Policy: AllowAll, Parallel: 1}
		turn := func(id string) Turn {
			return Turn{Session: "s", Number: 4, Calls: []Call{
				{ID: id + "0", Name: "count", Arguments: json.RawMessage(`{"n":0}`)}, {ID: id + "1", Name: "count", Arguments: json.RawMessage(`{"n":1}`)}}}
		}
		var wg sync.WaitGroup
		check := func(id string) {
			for i, res := range d.Dispatch(t.Context(), r.Catalog(), turn(id)) {
				if res.ModelText() != fmt.Sprintf(`{"n":%d}`, i) || res.CallID != fmt.Sprint(id, i) {
					t.Errorf("%s: got %q for %s", id, res, res.CallID)
				}
			}
		}
		for i := range 5 {
			wg.Go(func() { check(fmt.Sprint("s", i, "_")) })
		}
		wg.Wait()
		check("late_")
		if runs.Load() != 2 {
			t.Errorf("the two calls ran %d times", runs.Load())
		}
		got := d.Dispatch(t.Context(), r.Catalog(), turn("x"))
		if !got[0].Recorded {
			t.Error("an answer from the record does not say so")
		}
	})
}

// The same identity with other bytes, or another tool, is refused.
func TestOtherBytesAreRefused(t *testing.T) {
	r := registry(t, tool("a", says("ran")), tool("b", says("ran")))
	d := Dispatcher{Policy: AllowAll}
	turn := func(name, args string) Result {
		return d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Number: 1, Calls: []Call{{Name: name, Arguments: json.RawMessage(args)}}})[0]
	}
	if got := turn("a", `{"x":1}`); got.Code != "" {
		t.Fatalf("first: %s", got)
	}
	for _, other := range [][2]string{{"a", `{"x":2}`}, {"a", `{ "x":1}`}, {"b", `{"x":1}`}} {
		if got := turn(other[0], other[1]); got.Code != Conflict || got.State != NotStarted {
			t.Errorf("%s: %s (%s)", other, got, got.State)
		}
	}
}

// H069: two turns that both use the provider id call_0 both run.
func TestProviderIDsRepeat(t *testing.T) {
	r := registry(t, echo("add"))
	d := Dispatcher{}
	for n := range 2 {
		args := fmt.Sprintf(`{"n":%d}`, n)
		got := d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Number: n, Calls: []Call{{ID: "call_0", Name: "add", Arguments: json.RawMessage(args)}}})[0]
		if got.ModelText() != args || got.CallID != "call_0" || got.Recorded {
			t.Errorf("turn %d: %+v", n, got)
		}
	}
}

// Whoever waits for a call whose submitter gave up completes: with its own run
// where that cannot repeat an effect, and with the truth where it could.
func TestFollowersOfACanceledLeader(t *testing.T) {
	for _, tt := range []struct {
		name string
		mod  func(Tool) Tool
		runs int32
		code Code
	}{
		{"a read runs again", readOnly, 2, ""},
		{"an idempotent call runs again", idempotent, 2, ""},
		{"a once-only call does not", func(t Tool) Tool { return t }, 1, Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int32
				r := registry(t, tt.mod(counter(&runs)))
				local := new(Local)
				turn := Turn{Session: "s", Calls: []Call{{Name: "count", Arguments: json.RawMessage(`{}`)}}}
				leader, cancel := context.WithCancel(t.Context())
				go (&Dispatcher{Policy: AllowAll, Executor: local}).Dispatch(leader, r.Catalog(), turn)
				synctest.Wait()
				time.AfterFunc(500*time.Millisecond, cancel)
				got := (&Dispatcher{Policy: AllowAll, Executor: local}).Dispatch(t.Context(), r.Catalog(), turn)[0]
				if got.Code != tt.code || runs.Load() != tt.runs {
					t.Errorf("got %s after %d runs, want code %q after %d", got, runs.Load(), tt.code, tt.runs)
				}
			})
		})
	}
}

// A leader that is canceled before its call started leaves no trace: the
// follower runs it.
func TestFollowerOfALeaderThatNeverStarted(t *testing.T) {
	var runs atomic.Int32
	r := registry(t, tool("count", func(context.Context, Call) (Result, error) { runs.Add(1); return Text("x"), nil }))
	d := Dispatcher{Policy: AllowAll}
	turn := Turn{Session: "s", Calls: []Call{{Name: "count"}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := d.Dispatch(ctx, r.Catalog(), turn)[0]; got.Code != Canceled || got.State != NotStarted {
		t.Errorf("leader: %s", got)
	}
	if got := d.Dispatch(t.Context(), r.Catalog(), turn)[0]; got.Code != "" || runs.Load() != 1 {
		t.Errorf("follower: %s after %d runs", got, runs.Load())
	}
}

// Memory is bounded, and what fell out of it is not run again.
func TestLocalForgetsResultsNotCalls(t *testing.T) {
	var runs atomic.Int32
	r := registry(t, tool("count", func(context.Context, Call) (Result, error) { runs.Add(1); return Text("x"), nil }))
	local := &Local{Keep: 3}
	d := Dispatcher{Policy: AllowAll, Executor: local}
	turn := func(n int) Result {
		return d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Number: n, Calls: []Call{{Name: "count"}}})[0]
	}
	for n := range 10 {
		turn(n)
	}
	if got := len(local.sessions["s"].records); got != 3 {
		t.Errorf("%d records are kept, want 3", got)
	}
	if got := turn(9); !got.Recorded || got.Code != "" {
		t.Errorf("a kept one: %+v", got)
	}
	if got := turn(2); got.Code != OutcomeUnknown || runs.Load() != 10 {
		t.Errorf("one that fell out: %s after %d runs", got, runs.Load())
	}
	local.Forget("s")
	if got := turn(2); got.Code != "" || runs.Load() != 11 {
		t.Errorf("after Forget: %s after %d runs", got, runs.Load())
	}
}

// A faulty executor does its work wrong at one stage.
type faulty struct {
	Local
	stage string
}

func (f *faulty) Recall(ctx context.Context, x *Execution) (Outcome, bool) {
	switch f.stage {
	case "recall panics":
		panic("cannot read the record")
	case "recalls dirt":
		return Outcome{Result: Result{CallID: "other", State: Done, Content: []Content{{Text: "a\x00"}}}}, true
	}
	return f.Local.Recall(ctx, x)
}

func (f *faulty) Execute(ctx context.Context, x *Execution) Outcome {
	switch f.stage {
	case "claim fails":
		return Outcome{Result: Result{Code: Internal, State: NotStarted, Message: "the journal cannot be written"}}
	case "claim panics":
		panic("claim")
	case "hangs before the handler":
		select {}
	case "crashes after the handler":
		f.Local.Execute(ctx, x)
		panic("settle")
	case "loses the answer":
		f.Local.Execute(ctx, x)
		return Outcome{}
	case "hangs after the handler":
		f.Local.Execute(ctx, x)
		select {}
	case "answers for another call":
		out := f.Local.Execute(ctx, x)
		out.Result.CallID, out.Result.Tool = "other", "other"
		return out
	case "exits":
		runtime.Goexit()
	case "enters twice":
		f.Local.Execute(ctx, x)
		return x.Handle(ctx)
	case "answers structured dirt":
		return Outcome{Result: Result{Code: Conflict, State: Done, Message: "\x1b[2Jm", Structured: json.RawMessage("{")}}
	case "answers dirt":
		return Outcome{Result: Result{State: Done, Content: []Content{{Text: "a\x00b\x1b[31mc\xff"}}}}
	}
	return f.Local.Execute(ctx, x)
}

// An executor that fails at any stage border costs neither a result nor the
// truth about the effect.
func TestFaultyExecutors(t *testing.T) {
	for _, tt := range []struct {
		stage string
		code  Code
		state State
		runs  int32
	}{
		{"none", "", Done, 1},
		{"recall panics", Internal, NotStarted, 0},
		{"claim fails", Internal, NotStarted, 0},
		{"claim panics", Internal, Unknown, 0},
		{"hangs before the handler", OutcomeUnknown, Unknown, 0},
		{"crashes after the handler", Internal, Unknown, 1},
		{"loses the answer", OutcomeUnknown, Unknown, 1},
		{"hangs after the handler", OutcomeUnknown, Unknown, 1},
		{"answers for another call", "", Done, 1},
		{"exits", Internal, Unknown, 0},
		{"enters twice", Internal, Unknown, 1},
		{"answers structured dirt", Conflict, Done, 0},
		{"recalls dirt", "", Done, 0},
		{"answers dirt", "", Done, 0},
	} {
		t.Run(tt.stage, func(t *testing.T) {
			// Goroutines that hang for ever are the point of some rows, so this
			// runs on the real clock, with short limits.
			var runs atomic.Int32
			w := tool("w", func(context.Context, Call) (Result, error) { runs.Add(1); return Text("x"), nil })
			w.TimeoutMS = 20
			r := registry(t, w)
			d := Dispatcher{Policy: AllowAll, Executor: &faulty{stage: tt.stage}, Grace: 10 * time.Millisecond}
			got := d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Calls: []Call{{ID: "id", Name: "w"}}})[0]
			if got.Code != tt.code || got.State != tt.state || runs.Load() != tt.runs || got.CallID != "id" || got.Tool != "w" {
				t.Errorf("got %+v after %d runs", got, runs.Load())
			}
			if stage := tt.stage; got.Attempts != int(tt.runs) && stage != "answers for another call" {
				t.Errorf("%d attempts after %d runs", got.Attempts, runs.Load())
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
			if text := got.ModelText(); strings.ContainsAny(text, "\x00\x1b") || !utf8.ValidString(text) || text == "" {
				t.Errorf("the model would see %q", text)
			}
		})
	}
}

// With an executor that hangs, a cancel is answered too.
func TestCancelOfAHangingExecutor(t *testing.T) {
	r := registry(t, tool("w", says("x")))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	d := Dispatcher{Policy: AllowAll, Executor: &faulty{stage: "hangs after the handler"}, Grace: 10 * time.Millisecond}
	if got := d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "w"}))[0]; got.Code != OutcomeUnknown {
		t.Errorf("got %s", got)
	}
}

func TestIdentityKey(t *testing.T) {
	ids := []Identity{{"s", 1, 2}, {"s", 1, 3}, {"s", 2, 2}, {"t", 1, 2}}
	var keys []string
	for _, id := range ids {
		keys = append(keys, id.Key())
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != len(ids) {
		t.Errorf("keys %q of different calls meet", keys)
	}
	if k := (Identity{}).Key(); k != "" {
		t.Errorf("an anonymous call has the key %q", k)
	}
}

// stubborn does not return from Execute before it is told to, and counts what it
// is asked.
type stubborn struct {
	release chan struct{}
	recalls atomic.Int32
}

func (s *stubborn) Recall(context.Context, *Execution) (Outcome, bool) {
	s.recalls.Add(1)
	return Outcome{}, false
}

func (s *stubborn) Execute(_ context.Context, x *Execution) Outcome {
	<-s.release
	return x.fail(Errorf(Internal, "late").(*Error))
}

// What an executor does not answer for keeps its locks and counts as abandoned,
// whether its time ran out or its caller left; and anonymous calls are not looked
// up.
func TestExecutorThatDoesNotReturn(t *testing.T) {
	for _, leave := range []time.Duration{10 * time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &stubborn{release: make(chan struct{})}
			d := Dispatcher{Policy: AllowAll, Executor: s, Locks: new(Locks)}
			r := registry(t, tool("t", says("x")))
			ctx, cancel := context.WithTimeout(t.Context(), leave)
			defer cancel()
			if got := d.Dispatch(ctx, r.Catalog(), Calls(Call{Name: "t"}))[0]; got.Code != OutcomeUnknown || d.Abandoned() != 1 {
				t.Errorf("%s, %d abandoned", got, d.Abandoned())
			}
			beside := Dispatcher{Policy: AllowAll, Locks: d.Locks}
			if got := beside.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t"}))[0]; got.Code != Unavailable {
				t.Errorf("while it may still run: %s", got)
			}
			close(s.release)
			synctest.Wait()
			if got := beside.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t"}))[0]; got.Code != "" || d.Abandoned() != 0 {
				t.Errorf("afterwards: %s, %d abandoned", got, d.Abandoned())
			}
			if s.recalls.Load() != 0 {
				t.Error("an anonymous call was looked up")
			}
		})
	}
}

// again enters the handler twice, as an executor may where that has no effect.
type again struct{ Local }

func (a *again) Execute(ctx context.Context, x *Execution) Outcome {
	x.Handle(ctx)
	return x.Handle(ctx)
}

func TestHandleAgainWhileTheFirstStillRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		tl := readOnly(tool("t", func(ctx context.Context, _ Call) (Result, error) {
			if n.Add(1) == 1 {
				time.Sleep(time.Hour)
			}
			return Text("second"), nil
		}))
		tl.TimeoutMS = 1000
		d := Dispatcher{Executor: &again{}, Grace: 300 * time.Millisecond}
		if got := one(t, &d, tl, ""); got.ModelText() != "second" || got.Attempts != 2 {
			t.Errorf("got %+v", got)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if d.Abandoned() != 0 {
			t.Errorf("%d abandoned", d.Abandoned())
		}
	})
}

// Who waits for the same call of somebody else leaves with its own turn, whether
// it came while the call ran or just before.
func TestFollowersLeave(t *testing.T) {
	for name, policy := range map[string]time.Duration{"in Recall": 0, "in Execute": time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := registry(t, slowly("t", "", false, time.Minute, nil))
			local := new(Local)
			submit := func(ctx context.Context) Result {
				d := Dispatcher{Executor: local, Policy: func(context.Context, Request) (Decision, error) {
					time.Sleep(policy)
					return Decision{Verdict: Allow}, nil
				}}
				return d.Dispatch(ctx, r.Catalog(), Turn{Session: "s", Calls: []Call{{Name: "t"}}})[0]
			}
			go submit(t.Context())
			time.Sleep(policy / 2)
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			start := time.Now()
			// The executor is not trusted to return: one that does not is left behind two seconds later.
			if got := submit(ctx); got.Code != Canceled || time.Since(start) != 10*time.Second {
				t.Errorf("%s: %s after %v", name, got, time.Since(start))
			}
			time.Sleep(time.Hour)
		})
	}
}

// What is forgotten while it runs neither comes back nor takes another's place.
func TestForgetARunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		r := registry(t, readOnly(counter(&runs)))
		d := Dispatcher{}
		submit := func(ctx context.Context) Result {
			return d.Dispatch(ctx, r.Catalog(), Turn{Session: "s", Calls: []Call{{Name: "count"}}})[0]
		}
		ctx, cancel := context.WithCancel(t.Context())
		go submit(ctx)
		synctest.Wait()
		d.local.Forget("s")
		go submit(t.Context())
		synctest.Wait()
		cancel() // the first ends without an answer that could be kept
		synctest.Wait()
		if got := submit(t.Context()); got.Code != "" || runs.Load() != 2 {
			t.Errorf("%s after %d runs, want 2", got, runs.Load())
		}
		go submit(t.Context())
		d.local.Forget("s")
		time.Sleep(time.Hour)
	})
}

// A turn with more calls than are kept runs them all, whatever its number; what
// is kept by default is 1,024 calls.
func TestLocalKeepsTheTurnInHand(t *testing.T) {
	r := registry(t, echo("t"))
	d := Dispatcher{Executor: &Local{Keep: 3}}
	for _, n := range []int{math.MinInt, -1, 0, 7, math.MaxInt} {
		for i, res := range d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Number: n, Calls: slices.Repeat([]Call{{Name: "t"}}, 20)}) {
			if res.Code != "" {
				t.Fatalf("turn %d, call %d: %s", n, i, res)
			}
		}
	}
	d = Dispatcher{}
	for n := range 1100 {
		d.Dispatch(t.Context(), r.Catalog(), Turn{Session: "s", Number: n, Calls: []Call{{Name: "t"}}})
	}
	if n := len(d.local.sessions["s"].records); n != 1024 {
		t.Errorf("%d records are kept", n)
	}
}

func TestExecutionDigest(t *testing.T) {
	a, b := Execution{Call: Call{Name: "t", Arguments: json.RawMessage("11")}}, Execution{Call: Call{Name: "t1", Arguments: json.RawMessage("1")}}
	if a.Digest() == b.Digest() {
		t.Error("what belongs to the name and what to the arguments is not told apart")
	}
}

// Who follows a call that runs is not judged; a call that was not sent may be
// sent; one that overstayed and still runs is not run beside itself.
func TestResubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name         string
			tool         func(n *atomic.Int32) Tool
			while        time.Duration
			runs, judged int32
		}{
			{"while it runs", counter, 0, 1, 1},
			{"not sent", func(n *atomic.Int32) Tool {
				return tool("count", func(context.Context, Call) (Result, error) { n.Add(1); return Result{}, NotSent(errors.New("refused")) })
			}, 0, 2, 2},
			{"overstayed", func(n *atomic.Int32) Tool {
				return idempotent(tool("count", func(context.Context, Call) (Result, error) { n.Add(1); time.Sleep(time.Hour); return Text("x"), nil }))
			}, 10 * time.Second, 1, 1},
		} {
			var runs, judged atomic.Int32
			r := registry(t, tt.tool(&runs))
			d := Dispatcher{Timeout: 5 * time.Second, Policy: func(context.Context, Request) (Decision, error) {
				judged.Add(1)
				return Decision{Verdict: Allow}, nil
			}}
			turn := Turn{Session: "s", Calls: []Call{{Name: "count"}}}
			go d.Dispatch(t.Context(), r.Catalog(), turn)
			synctest.Wait()
			time.Sleep(tt.while)
			start := time.Now()
			d.Dispatch(t.Context(), r.Catalog(), turn)
			if took := time.Since(start); took > time.Second || runs.Load() != tt.runs || judged.Load() != tt.judged {
				t.Errorf("%s: %d runs, %d verdicts, after %v", tt.name, runs.Load(), judged.Load(), took)
			}
			time.Sleep(2 * time.Hour)
		}
	})
}

// A code without words gets those of the table.
func TestExecutorWithoutWords(t *testing.T) {
	x := Execution{Spec: new(Spec), gate: new(Dispatcher)}
	if got := x.gate.complete(&x, Outcome{Result: Result{Code: Unavailable, State: NotStarted}}); got.Message != Unavailable.Info().Advice {
		t.Errorf("message %q", got.Message)
	}
}
