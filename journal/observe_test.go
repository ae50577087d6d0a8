package journal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A watched gate records what never reaches the executor.
func watchedGate(t testing.TB, j *journal.Journal) *gate {
	g := newGate(t, j.Executor(nil))
	g.Observers = []callgate.Observer{j.Observer()}
	return g
}

func deny(context.Context, callgate.Request) (callgate.Decision, error) {
	return callgate.Decision{Rule: "rule-3", Reason: "not on a Friday"}, nil
}

// Every refusal has its row, with who refused and why; submitted again it has no
// second one.
func TestRefusals(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	for i, c := range []struct {
		what string
		call callgate.Call
		gate func(*gate)
		want string // tool effect code verdict rule by, and part of the reason
	}{
		{"unknown tool", call("nosuch", `{}`), func(*gate) {}, `nosuch once unknown_tool deny "" ""`},
		{"no JSON", call("read", `{"a":`), func(*gate) {}, `read read-only malformed_arguments deny "" ""`},
		{"invalid", call("again", `7`), func(*gate) {}, `again idempotent invalid_arguments deny "" ""`},
		{"denied", call("once", `{}`), func(g *gate) { g.Policy = deny }, `once once permission_denied deny "rule-3" "not on a Friday"`},
		{"rejected", call("once", `{}`), func(g *gate) {
			a := askingGate(t, j, callgate.Answer{By: "ada", Message: "no"})
			g.Policy, g.Approver = a.Policy, a.Approver
		}, `once once approval_rejected ask "rule-7" "it writes"`},
		{"nobody to ask", call("once", `{}`), func(g *gate) { g.Policy = askingGate(t, j, callgate.Answer{}).Policy }, `once once permission_denied ask "rule-7" "it writes"`},
	} {
		g := watchedGate(t, j)
		c.gate(g)
		var first callgate.Result
		for range 2 {
			first = g.submit(i, c.call)[0]
		}
		rows := slices.DeleteFunc(records(t, j, "s"), func(r journal.Record) bool { return r.Identity.Turn != i })
		if len(rows) != 1 {
			t.Errorf("%s: %d rows", c.what, len(rows))
			continue
		}
		r := rows[0]
		if got := fmt.Sprintf("%s %s %s %s %q %q", r.Tool, r.Effect, r.Code, r.Verdict, r.Decision.Rule, r.Decision.Reason); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, got, c.want)
		}
		if !r.Settled || r.State != callgate.NotStarted || r.Attempts != 0 || !r.Started.IsZero() || r.Ended.Before(r.Claimed) || r.Digest != c.call.Digest() ||
			string(r.Arguments) != string(c.call.Arguments) || r.Result.Message != first.Message || len(r.Result.Violations) != len(first.Violations) || (r.ToolDigest == "") != (c.what == "unknown tool") {
			t.Errorf("%s: %+v", c.what, r)
		}
	}
	v, err := j.Verify(context.Background(), journal.Head{})
	if err != nil || v.Calls != 6 {
		t.Errorf("%+v, %v", v, err)
	}
}

// What ran, is running, is answered from the record or is nobody's has no row of the
// observer.
func TestNoRefusals(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := watchedGate(t, j)
	g.do = func(_ context.Context, c callgate.Call, run int) (callgate.Result, error) {
		if c.Name == "again" && run == 0 {
			return callgate.Result{}, callgate.NotSent(fmt.Errorf("the line is dead"))
		}
		if len(records(t, j, "s")) != 1 {
			t.Error("more than the claim")
		}
		denied := watchedGate(t, j)
		denied.Policy = deny
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		denied.Dispatch(ctx, denied.cat, callgate.Turn{Session: "s", Number: 1, Calls: []callgate.Call{c}})
		return callgate.Text("did"), nil
	}
	for range 2 {
		g.submit(1, call("once", `{}`))
	}
	g.submit(1, call("once", `{"other":1}`)) // a conflict
	denied := watchedGate(t, j)
	denied.Policy = deny
	denied.submit(1, call("once", `{}`)) // the record answers
	g.Dispatch(context.Background(), g.cat, callgate.Calls(call("nosuch", `{}`)))
	if rows := records(t, j, "s"); len(rows) != 1 || rows[0].Code != "" {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
	verify(t, j, 2)
}

// A handler that says itself that nothing was begun has the row of its call.
func TestNotStartedByTheHandler(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := watchedGate(t, j)
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		return callgate.Result{}, callgate.NotSent(fmt.Errorf("the line is dead"))
	}
	g.submit(1, call("once", `{}`))
	if rows := records(t, j, "s"); len(rows) != 1 || rows[0].Code != callgate.Unavailable || rows[0].Attempts == 0 {
		t.Errorf("%+v", rows)
	}
}

// An observer without the executor records what was refused, and not what ran; under
// one identity it keeps to the bytes that it saw first.
func TestObserverAlone(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := newGate(t, nil)
	g.Observers = []callgate.Observer{j.Observer()}
	g.submit(1, call("once", `{}`))
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		return callgate.Result{}, callgate.NotSent(fmt.Errorf("the line is dead"))
	}
	g.submit(2, call("once", `{}`))
	g.submit(3, call("nosuch", `{}`))
	g.submit(3, call("once", `7`))
	if rows := records(t, j, "s"); len(rows) != 1 || rows[0].Code != callgate.UnknownTool {
		t.Errorf("%+v", rows)
	}
}

// To watch changes no outcome: a call that was refused may be submitted again, with
// the same bytes or with others, and has its own row then.
func TestRefusalIsNoObstacle(t *testing.T) {
	for _, args := range []string{`{}`, `{"other":1}`} {
		j := open(t, file(t), journal.Options{})
		g := watchedGate(t, j)
		g.Policy = deny
		want(t, g.submit(1, call("once", `{}`))[0], callgate.PermissionDenied, callgate.NotStarted, "Friday")
		g = watchedGate(t, j)
		want(t, g.submit(1, call("once", args))[0], "", callgate.Done, args)
		want(t, g.submit(1, call("once", args))[0], "", callgate.Done, args)
		want(t, g.submit(1, call("once", `{"third":1}`))[0], callgate.Conflict, callgate.NotStarted, "")
		rows := records(t, j, "s")
		if g.runs.Load() != 1 || len(rows) != 2 || rows[0].Code != callgate.PermissionDenied || rows[1].Code != "" || rows[1].Run != 1 {
			t.Errorf("%d runs, %d rows: %+v", g.runs.Load(), len(rows), rows)
		}
	}
}

// A refusal of today does not hide a run in doubt of yesterday: were the tool found
// once-only tomorrow, the record still says that it may have run.
func TestRefusalHidesNoDoubt(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := watchedGate(t, j)
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		return callgate.Result{}, callgate.Errorf(callgate.OutcomeUnknown, "the line went dead")
	}
	want(t, g.submit(1, call("again", `{}`))[0], callgate.OutcomeUnknown, callgate.Unknown, "")
	g = watchedGate(t, j)
	g.Policy = deny
	want(t, g.submit(1, call("again", `{}`))[0], callgate.PermissionDenied, callgate.NotStarted, "")
	rows := records(t, j, "s")
	if last := rows[len(rows)-1]; last.Code != callgate.OutcomeUnknown {
		t.Errorf("the newest row says %q", last.Code)
	}
}

// What cannot be written is lost; the answer is the same.
func TestRefusalThatCannotBeWritten(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	tamper(t, path, `CREATE TRIGGER no BEFORE INSERT ON calls BEGIN SELECT raise(ABORT, 'the disk is full'); END`)
	r := watchedGate(t, j).submit(1, call("nosuch", `{}`))[0]
	if r.Code != callgate.UnknownTool || strings.Contains(r.Message, "disk") || len(records(t, j, "s")) != 0 {
		t.Errorf("%q", r)
	}
}
