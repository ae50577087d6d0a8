package journal

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/callgate/callgate"
)

// What changes something is on disk before its handler starts, and again before it
// is answered; a read is written, but waits for no disk.
func TestDurableBeforeAndAfterTheHandler(t *testing.T) {
	for tool, syncs := range map[string]int64{"once": 1, "again": 1, "read": 0} {
		g := newRig(t, Options{}, nil)
		before := g.write.synced.Load()
		var rows, during int64
		g.do = func() {
			during = g.write.synced.Load()
			for rec, err := range g.Calls(context.Background(), "s") {
				if rows++; err != nil || rec.Settled || !rec.Started.IsZero() {
					t.Errorf("%s, while it runs: %+v, %v", tool, rec, err)
				}
			}
		}
		g.submit(1, 1, tool)
		after := g.write.synced.Load()
		if rows != 1 || during-before != syncs || after-during != syncs {
			t.Errorf("%s: %d claims seen, %d syncs before the handler, %d after; want 1, %d, %d", tool, rows, during-before, after-during, syncs, syncs)
		}
	}
}

// Not even a harmless call is started beside itself: while a handler that overstayed
// still runs, the record is the answer; then it may run again.
func TestOverstayingIsNotStartedBesideItself(t *testing.T) {
	g := newRig(t, Options{}, nil)
	g.gate.Grace = 200 * time.Millisecond // twice of it is the journal's time to settle the call
	release, returned := make(chan struct{}), make(chan struct{})
	g.do = func() {
		if g.runs.Load() == 1 {
			<-release
			close(returned)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	turn := callgate.Turn{Session: "s", Number: 1, Calls: []callgate.Call{{Name: "again", Arguments: json.RawMessage(`{}`)}}}
	if r := g.gate.Dispatch(ctx, g.cat, turn)[0]; r.Code != callgate.Canceled {
		t.Errorf("%q", r)
	}
	// Without the journal's memory of the handler the lock would hold the call
	// back, for as long as the call may take: this asks the executor itself.
	x := &callgate.Execution{Call: turn.Calls[0], Effect: callgate.Idempotent, Timeout: time.Second}
	x.Call.Identity = callgate.Identity{Session: "s", Turn: 1}
	if out, ok := g.gate.Executor.Recall(context.Background(), x); !ok || !out.Result.Recorded || out.Result.Code != callgate.Canceled {
		t.Errorf("while it overstays: %+v, %t", out.Result, ok)
	}
	close(release)
	<-returned
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, ok := g.gate.Executor.Recall(context.Background(), x); !ok {
			break
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal("it may not run again although its handler has returned")
		}
	}
	if r := g.gate.Dispatch(context.Background(), g.cat, turn)[0]; r.Code != "" || g.runs.Load() != 2 {
		t.Errorf("%q after %d runs", r, g.runs.Load())
	}
}

// A call that somebody else has settled meanwhile, taking this process for a dead
// one, is in doubt for both: the record and the answer do not disagree.
func TestSettledByAnother(t *testing.T) {
	g := newRig(t, Options{}, nil)
	g.do = func() {
		if err := os.Remove(g.owner.file.Name()); err != nil {
			t.Error(err)
		}
		other, err := Open(g.path, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		other.Close()
	}
	r := g.submit(1, 1, "once")[0]
	if r.Code != callgate.OutcomeUnknown || r.Recorded {
		t.Errorf("the answer: %q", r)
	}
	if r := g.submit(1, 1, "once")[0]; r.Code != callgate.OutcomeUnknown || !r.Recorded || g.runs.Load() != 1 {
		t.Errorf("the record: %q, %d runs", r, g.runs.Load())
	}
	if head, err := g.Verify(context.Background(), Head{}); err != nil || head.Calls != 1 {
		t.Errorf("%v, %v", head, err)
	}
}

// A tool that says today that a repetition is harmless does not speak for the call
// of yesterday.
func TestOnceThenIsOnceNow(t *testing.T) {
	g := newRig(t, Options{}, nil)
	id := callgate.Identity{Session: "s", Turn: 1}
	for _, c := range []struct {
		recorded, now callgate.Effect
		state         callgate.State
		runs          bool
	}{
		{callgate.Once, callgate.Once, callgate.Unknown, false},
		{callgate.Once, callgate.Idempotent, callgate.Unknown, false},
		{callgate.Once, callgate.ReadOnly, callgate.Stopped, false},
		{callgate.Idempotent, callgate.Once, callgate.Unknown, false},
		{callgate.Idempotent, callgate.Idempotent, callgate.Unknown, true},
		{callgate.ReadOnly, callgate.ReadOnly, callgate.Stopped, true},
		{callgate.ReadOnly, callgate.ReadOnly, callgate.Done, false},
		{callgate.Once, callgate.Once, callgate.NotStarted, true},
	} {
		id.Turn++
		x := &callgate.Execution{Call: callgate.Call{Name: "t", Identity: id}, Spec: &callgate.Spec{Name: "t"}, Effect: c.recorded}
		r, err := g.claim(x, x.Digest())
		if err != nil || r == nil {
			t.Fatal(r, err)
		}
		if again, err := g.claim(x, x.Digest()); again != nil || err != nil {
			t.Errorf("an open call is claimed again: %v", err)
		}
		out := unknown("in doubt")
		out.Result.State = c.state
		r.started = now() // as whatever reached the executor
		if err := g.settle(r, out); err != nil {
			t.Fatal(err)
		}
		x.Effect = c.now
		if _, ok := (&executor{Journal: g.Journal}).Recall(context.Background(), x); ok == c.runs {
			t.Errorf("%v then, %v now, %s: recalled %t", c.recorded, c.now, c.state, ok)
		}
		other := *x.Spec
		y := &callgate.Execution{Call: callgate.Call{Name: "t", Arguments: json.RawMessage(`{"other":1}`), Identity: id}, Spec: &other, Effect: c.now}
		if got, err := g.claim(y, y.Digest()); got != nil || err != nil {
			t.Errorf("claimed with other bytes: %v", err)
		}
		if again, err := g.claim(x, x.Digest()); (again != nil) != c.runs || err != nil {
			t.Errorf("%v then, %v now, %s: claimed again %t, %v; want %t", c.recorded, c.now, c.state, again != nil, err, c.runs)
		}
	}
}

// A call that was stopped before it started is not even claimed.
func TestStoppedBeforeTheClaim(t *testing.T) {
	g := newRig(t, Options{}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := &callgate.Execution{Call: callgate.Call{Name: "t", Identity: callgate.Identity{Session: "s"}}, Spec: &callgate.Spec{Name: "t"}}
	if out := g.gate.Executor.Execute(ctx, x); out.Result.Code != callgate.Canceled || out.Result.State != callgate.NotStarted {
		t.Errorf("%+v", out.Result)
	}
	if r, err := g.latest(x.Call.Identity); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// Other bytes under the identity of a call that runs are refused at once, not when
// it has ended.
func TestOtherBytesAreRefusedAtOnce(t *testing.T) {
	g := newRig(t, Options{}, nil)
	var r callgate.Result
	g.do = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		r = g.gate.Dispatch(ctx, g.cat, callgate.Turn{Session: "s", Number: 1, Calls: []callgate.Call{{Name: "once", Arguments: json.RawMessage(`{}`)}}})[0]
	}
	g.submit(1, 1, "once")
	if r.Code != callgate.Conflict || r.State != callgate.NotStarted || g.runs.Load() != 1 {
		t.Errorf("%q, state %s, %d runs", r, r.State, g.runs.Load())
	}
}

// A process never takes itself for dead, even if somebody removed its file.
func TestRecoverLeavesItsOwn(t *testing.T) {
	g := newRig(t, Options{}, nil)
	if err := os.Remove(g.owner.file.Name()); err != nil {
		t.Fatal(err)
	}
	g.do = func() {
		if n, err := g.Recover(context.Background()); n != 0 || err != nil {
			t.Errorf("recovered %d calls, %v", n, err)
		}
	}
	if r := g.submit(1, 1, "once")[0]; r.Code != "" {
		t.Errorf("%q", r)
	}
}

// A closed writer refuses, however many come; readers cannot write.
func TestClosedWriterAndReaders(t *testing.T) {
	g := newRig(t, Options{}, nil)
	if _, err := g.read.Exec(`DELETE FROM calls`); err == nil {
		t.Error("a reader wrote")
	}
	g.Close()
	for range maxBatch + 1 {
		if err := g.write.do(true, func(*writer) error { t.Error("it was done"); return nil }); err != ErrClosed {
			t.Fatal(err)
		}
	}
}

// A next executor that runs the call when it is told to.
type waiting struct {
	callgate.Executor
	running, end chan struct{}
}

func (w waiting) Execute(context.Context, *callgate.Execution) callgate.Outcome {
	close(w.running)
	<-w.end
	return callgate.Outcome{Result: callgate.Result{State: callgate.Done}}
}

// A call that starts between a repetition's look at what runs here and its look at
// the file is waited for, not taken for one that could not be recorded.
func TestStartedBetweenTwoLooks(t *testing.T) {
	g := newRig(t, Options{}, nil)
	w := waiting{running: make(chan struct{}), end: make(chan struct{})}
	e := g.Executor(w)
	x := &callgate.Execution{Call: callgate.Call{Name: "t", Identity: callgate.Identity{Session: "s"}}, Spec: &callgate.Spec{Name: "t"}, Timeout: time.Minute}
	var busy []interface{ Close() error }
	for range 4 { // all that read
		c, err := g.read.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		busy = append(busy, c)
	}
	repetition := make(chan callgate.Outcome, 1)
	go func() {
		out, _ := e.Recall(context.Background(), x)
		repetition <- out
	}()
	for g.read.Stats().WaitCount == 0 { // it has looked, and waits to read the file
		time.Sleep(time.Millisecond)
	}
	go e.Execute(context.Background(), x)
	<-w.running
	for _, c := range busy {
		c.Close()
	}
	time.Sleep(20 * time.Millisecond)
	close(w.end)
	if out := <-repetition; out.Result.State != callgate.Done || !out.Result.Recorded {
		t.Errorf("got %+v", out.Result)
	}
}
