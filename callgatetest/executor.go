// Package callgatetest has what implementers need to test their part of the gate:
// for an [callgate.Executor] of one's own, the suite that every one must pass.
package callgatetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate"
)

// TestExecutor checks that what make returns keeps the promises of
// [callgate.Executor]: each call of a named session runs once however often and
// however concurrently it is submitted, other bytes under the same identity are
// refused, what did not start may start, what may have run is not repeated, and
// every outcome tells the truth about the effect.
//
// make is called once for each subtest and must return an executor that knows no
// calls. It runs on the real clock and takes a few seconds.
func TestExecutor(t *testing.T, make func(t *testing.T) callgate.Executor) {
	for _, c := range []struct {
		name string
		run  func(*bench)
	}{
		{"a call runs and is answered in full", inFull},
		{"a failure is an outcome", failures},
		{"a panic is an outcome", panics},
		{"a submitted call is answered from the record", answeredFromRecord},
		{"concurrent submissions run once", concurrently},
		{"other bytes are refused", otherBytes},
		{"identities do not meet", identities},
		{"anonymous calls are nobody's repetition", anonymous},
		{"a call that was canceled before it started may start", canceledBefore},
		{"a once-only call that was stopped is not repeated", stoppedOnce},
		{"a read that was stopped may be repeated", stoppedRead},
		{"a handler that overstays is answered for and not repeated", overstays},
		{"a call that fails is not repeated", failedOnce},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{T: t, gate: &callgate.Dispatcher{
				Policy: callgate.AllowAll, Executor: make(t), Grace: 250 * time.Millisecond, Parallel: 64,
			}}
			b.register()
			c.run(b)
		})
	}
}

// A bench is a registry with tools that count their runs, and a dispatcher.
type bench struct {
	*testing.T
	gate *callgate.Dispatcher
	cat  *callgate.Catalog
	runs atomic.Int32
	do   func(ctx context.Context, c callgate.Call) (callgate.Result, error)
}

const (
	once = "once"
	read = "read"
)

func (b *bench) register() {
	b.do = func(_ context.Context, c callgate.Call) (callgate.Result, error) {
		return callgate.Text(string(c.Arguments)), nil
	}
	tool := func(name string, readOnly bool) callgate.Tool {
		return callgate.Tool{
			Spec: callgate.Spec{
				Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), TimeoutMS: 2000,
				Annotations: callgate.Annotations{ReadOnlyHint: readOnly, OpenWorldHint: new(false)},
			},
			Handler: func(ctx context.Context, c callgate.Call) (callgate.Result, error) {
				b.runs.Add(1)
				return b.do(ctx, c)
			},
			Access: func(json.RawMessage) []callgate.Access { return nil }, // nothing but the executor keeps calls apart
		}
	}
	var r callgate.Registry
	short := tool("short", false)
	short.TimeoutMS = 50
	if err := r.Register(tool(once, false), tool(read, true), short); err != nil {
		b.Fatal(err)
	}
	b.cat = r.Catalog()
}

// submit dispatches one call under session/turn/0.
func (b *bench) submit(ctx context.Context, session string, turn int, tool, args string) callgate.Result {
	b.Helper()
	return b.gate.Dispatch(ctx, b.cat, callgate.Turn{Session: session, Number: turn, Calls: []callgate.Call{
		{ID: fmt.Sprint("id", turn), Name: tool, Arguments: json.RawMessage(args)}}})[0]
}

// want checks a result and the number of runs so far.
func (b *bench) want(r callgate.Result, code callgate.Code, state callgate.State, runs int32) {
	b.Helper()
	if r.Code != code || r.State != state || b.runs.Load() != runs {
		b.Errorf("got %q, state %s, after %d runs of the handler; want code %q, state %s, after %d", r, r.State, b.runs.Load(), code, state, runs)
	}
}

func inFull(b *bench) {
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) {
		return callgate.Result{
			Notes: []string{"a note"}, Structured: json.RawMessage(`{"id":9007199254740993}`),
			Content: []callgate.Content{{Type: "text", Text: "grüße"}, {Type: "image", Data: []byte{1, 2, 3}, MIMEType: "image/png"}},
		}, nil
	}
	for range 2 { // as it is run, and as it is remembered
		r := b.submit(b.Context(), "s", 1, once, `{}`)
		b.want(r, "", callgate.Done, 1)
		if r.CallID != "id1" || r.Tool != once || r.Attempts != 1 || !slices.Equal(r.Notes, []string{"a note"}) || string(r.Structured) != `{"id":9007199254740993}` ||
			len(r.Content) != 2 || r.Content[0].Text != "grüße" || string(r.Content[1].Data) != "\x01\x02\x03" || r.Content[1].MIMEType != "image/png" {
			b.Errorf("the result is not whole: %+v", r)
		}
	}
}

func failures(b *bench) {
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) {
		return callgate.Text("partial"), callgate.Errorf(callgate.Conflict, "changed")
	}
	r := b.submit(b.Context(), "s", 1, once, `{}`)
	b.want(r, callgate.Conflict, callgate.Done, 1)
	if r.Message != "changed" || r.ContentText() != "partial" {
		b.Errorf("got %+v", r)
	}
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) {
		return callgate.Result{}, callgate.NotSent(errors.New("refused"))
	}
	b.want(b.submit(b.Context(), "s", 2, once, `{}`), callgate.Unavailable, callgate.NotStarted, 2)
	b.want(b.submit(b.Context(), "s", 2, once, `{}`), callgate.Unavailable, callgate.NotStarted, 3) // nothing happened: it may run again
}

func panics(b *bench) {
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) { panic("a secret") }
	r := b.submit(b.Context(), "s", 1, once, `{}`)
	b.want(r, callgate.ExecutionError, callgate.Done, 1)
	if j, _ := json.Marshal(r); containsAny(string(j), "a secret", "goroutine") {
		b.Errorf("the model sees the panic: %s", j)
	}
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool {
		for i := 0; i+len(p) <= len(s); i++ {
			if s[i:i+len(p)] == p {
				return true
			}
		}
		return false
	})
}

func answeredFromRecord(b *bench) {
	for range 3 {
		b.want(b.submit(b.Context(), "s", 1, once, `{"n":1}`), "", callgate.Done, 1)
	}
	if r := b.submit(b.Context(), "s", 1, once, `{"n":1}`); !r.Recorded || r.ContentText() != `{"n":1}` {
		b.Errorf("got %+v", r)
	}
}

func concurrently(b *bench) {
	b.do = func(_ context.Context, c callgate.Call) (callgate.Result, error) {
		time.Sleep(20 * time.Millisecond)
		return callgate.Text(string(c.Arguments)), nil
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if r := b.submit(b.Context(), "s", 1, once, `{"n":1}`); r.ContentText() != `{"n":1}` || r.Code != "" {
				b.Errorf("got %q", r)
			}
		})
	}
	wg.Wait()
	if n := b.runs.Load(); n != 1 {
		b.Errorf("16 submissions ran %d times", n)
	}
}

func otherBytes(b *bench) {
	b.submit(b.Context(), "s", 1, once, `{"n":1}`)
	b.want(b.submit(b.Context(), "s", 1, once, `{"n":2}`), callgate.Conflict, callgate.NotStarted, 1)
	b.want(b.submit(b.Context(), "s", 1, once, `{"n": 1}`), callgate.Conflict, callgate.NotStarted, 1)
	b.want(b.submit(b.Context(), "s", 1, read, `{"n":1}`), callgate.Conflict, callgate.NotStarted, 1)
	b.want(b.submit(b.Context(), "s", 1, once, `{"n":1}`), "", callgate.Done, 1)
}

func identities(b *bench) {
	for i, id := range []struct {
		session string
		turn    int
	}{{"s", 1}, {"s", 2}, {"t", 1}, {"s/1", 1}, {"", 1}} {
		b.want(b.submit(b.Context(), id.session, id.turn, once, `{}`), "", callgate.Done, int32(i+1))
	}
	got := b.gate.Dispatch(b.Context(), b.cat, callgate.Turn{Session: "s", Number: 3, Calls: []callgate.Call{
		{ID: "call_0", Name: once, Arguments: json.RawMessage(`{"n":1}`)}, {ID: "call_0", Name: once, Arguments: json.RawMessage(`{"n":2}`)}}})
	if got[0].ContentText() != `{"n":1}` || got[1].ContentText() != `{"n":2}` {
		b.Errorf("two calls of one turn under one provider id: %q", got)
	}
}

func anonymous(b *bench) {
	for i := range 3 {
		b.want(b.submit(b.Context(), "", 0, once, `{}`), "", callgate.Done, int32(i+1))
	}
}

func canceledBefore(b *bench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	b.want(b.submit(ctx, "s", 1, once, `{}`), callgate.Canceled, callgate.NotStarted, 0)
	b.want(b.submit(b.Context(), "s", 1, once, `{}`), "", callgate.Done, 1)
}

// stop submits a call and cancels it once its handler runs.
func (b *bench) stop(tool string) callgate.Result {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.do = func(hctx context.Context, _ callgate.Call) (callgate.Result, error) {
		cancel()
		<-hctx.Done()
		return callgate.Result{}, hctx.Err()
	}
	return b.submit(ctx, "s", 1, tool, `{}`)
}

func stoppedOnce(b *bench) {
	b.want(b.stop(once), callgate.Canceled, callgate.Stopped, 1)
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) { return callgate.Text("again"), nil }
	if r := b.submit(b.Context(), "s", 1, once, `{}`); r.Code == "" || b.runs.Load() != 1 {
		b.Errorf("submitted again: %q after %d runs", r, b.runs.Load())
	}
}

func stoppedRead(b *bench) {
	if r := b.stop(read); r.Code != callgate.Canceled {
		b.Errorf("stopped: %q", r)
	}
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) { return callgate.Text("again"), nil }
	b.want(b.submit(b.Context(), "s", 1, read, `{}`), "", callgate.Done, 2)
}

func overstays(b *bench) {
	release := make(chan struct{})
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) {
		<-release
		return callgate.Text("late"), nil
	}
	b.want(b.submit(b.Context(), "s", 1, "short", `{}`), callgate.Timeout, callgate.Unknown, 1)
	if r := b.submit(b.Context(), "s", 1, "short", `{}`); r.Code == "" || b.runs.Load() != 1 {
		b.Errorf("submitted again while it still runs: %q after %d runs", r, b.runs.Load())
	}
	close(release)
	if r := b.submit(b.Context(), "s", 1, "short", `{}`); b.runs.Load() != 1 {
		b.Errorf("submitted again after it returned: %q after %d runs", r, b.runs.Load())
	}
}

func failedOnce(b *bench) {
	b.do = func(context.Context, callgate.Call) (callgate.Result, error) {
		return callgate.Result{}, errors.New("half done")
	}
	b.want(b.submit(b.Context(), "s", 1, once, `{}`), callgate.ExecutionError, callgate.Done, 1)
	b.want(b.submit(b.Context(), "s", 1, once, `{}`), callgate.ExecutionError, callgate.Done, 1)
}
