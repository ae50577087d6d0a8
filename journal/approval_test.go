package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// askingGate asks for each call, and gets the answer.
func askingGate(t testing.TB, j *journal.Journal, answer callgate.Answer) *gate {
	g := newGate(t, j.Executor(nil))
	g.Policy = func(context.Context, callgate.Request) (callgate.Decision, error) {
		return callgate.Decision{Verdict: callgate.Ask, Rule: "rule-7", Reason: "it writes"}, nil
	}
	g.Approver = j.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return answer, nil
	})
	g.Observers = []callgate.Observer{j.Observer()}
	return g
}

func approvals(t testing.TB, j *journal.Journal, session string) (list []journal.Approval) {
	t.Helper()
	for a, err := range j.Approvals(context.Background(), session) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// What a person said is a row before the call is one, and says of which call it was
// and what they were shown.
func TestApprovals(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	for i, answer := range []callgate.Answer{{Approved: true, By: "ada"}, {By: "bob", Message: "not today"}, {}} {
		g := askingGate(t, j, answer)
		g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
			if head, err := j.Head(context.Background()); err != nil || len(approvals(t, j, "s")) != 1 || head.Rows != 2 {
				t.Error("the handler runs before the answer is in the chain")
			}
			return callgate.Text("did"), nil
		}
		c := call("once", fmt.Sprintf(`{"n":%d}`, i))
		r := g.submit(i, c)[0]
		if answer.Approved != (r.Code == "") {
			t.Errorf("%q", r)
		}
		list := approvals(t, j, "s")
		if len(list) != i+1 {
			t.Fatalf("%d approvals after %d answers", len(list), i+1)
		}
		a, digest, tool := list[i], c.Digest(), ""
		for _, s := range g.cat.Specs() {
			if s.Name == "once" {
				tool, _ = s.Digest()
			}
		}
		if a.Identity != (callgate.Identity{Session: "s", Turn: i}) || a.Tool != "once" || a.ToolDigest != tool || !bytes.Equal(a.Digest, digest[:]) ||
			a.Rule != "rule-7" || a.Reason != "it writes" || a.Approved != answer.Approved || a.By != answer.By || a.Message != answer.Message ||
			a.Asked.IsZero() || a.Answered.Before(a.Asked) {
			t.Errorf("%+v", a)
		}
	}
	verify(t, j, 7) // the session, an answer and a call each
	if rec := records(t, j, "s"); len(rec) != 3 || rec[0].Decision.By != "ada" || rec[0].Verdict != "allow" || rec[1].Code != callgate.ApprovalRejected {
		t.Errorf("%+v", rec)
	}
}

// The same call may be asked about again; the answers come in their order.
func TestApprovalsInOrder(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	var want []string
	for n := range 150 { // more than a page
		g := askingGate(t, j, callgate.Answer{Message: fmt.Sprint(n)})
		if n < 20 {
			g.submit(n%2, call("once", `{}`), call("read", `{}`))
		} else {
			g.submit(n, call("once", `{}`))
		}
	}
	for turn := range 2 {
		for index := range 2 {
			for n := turn; n < 20; n += 2 {
				want = append(want, fmt.Sprintf("s/%d/%d %d", turn, index, n))
			}
		}
	}
	for n := 20; n < 150; n++ {
		want = append(want, fmt.Sprintf("s/%d/0 %d", n, n))
	}
	for i, a := range approvals(t, j, "s") {
		if got := fmt.Sprint(a.Identity, " ", a.Message); i >= len(want) || got != want[i] {
			t.Fatalf("approval %d is %q", i, got)
		}
	}
	if n := len(approvals(t, j, "s")); n != len(want) {
		t.Errorf("%d approvals, want %d", n, len(want))
	}
	for range j.Approvals(context.Background(), "s") {
		break
	}
}

// Nobody is bothered about a call that cannot run, whatever he says; once the other
// process is gone he is asked.
func TestNobodyIsAskedInAnothersSession(t *testing.T) {
	dir := t.TempDir()
	cmd := start(t, "keeper", dir)
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
	g := askingGate(t, j, callgate.Answer{})
	asked := 0
	g.Approver = j.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		asked++
		return callgate.Answer{Approved: true}, nil
	})
	want(t, g.submit(1, call("once", `{}`))[0], callgate.Unavailable, callgate.NotStarted, "another process has the session")
	if asked != 0 || g.runs.Load() != 0 {
		t.Errorf("asked %d times, %d runs", asked, g.runs.Load())
	}
	cmd.Process.Kill()
	cmd.Wait()
	want(t, g.submit(1, call("once", `{}`))[0], "", callgate.Done, "")
	begin(t, j, "mine", journal.About{}) // what this process holds is not another's
	want(t, g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: "mine", Calls: []callgate.Call{call("once", `{}`)}})[0], "", callgate.Done, "")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// A yes that cannot be recorded is none.
func TestUnrecordedAnswer(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	g := askingGate(t, j, callgate.Answer{Approved: true})
	tamper(t, path, `CREATE TRIGGER no BEFORE INSERT ON approvals BEGIN SELECT raise(ABORT, 'the disk is full'); END`)
	want(t, g.submit(1, call("once", `{}`))[0], callgate.ApprovalRejected, callgate.NotStarted, "could not be obtained")
	if g.runs.Load() != 0 || len(approvals(t, j, "s")) != 0 {
		t.Errorf("%d runs, %d approvals", g.runs.Load(), len(approvals(t, j, "s")))
	}
	answer, err := j.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Approved: true}, nil
	})(context.Background(), callgate.Request{Call: callgate.Call{Identity: callgate.Identity{Session: "s"}}}, callgate.Decision{})
	if err == nil || answer.Approved {
		t.Errorf("%+v, %v", answer, err)
	}
}

// An approver that fails said nothing, and the answer to an anonymous call is
// nobody's to look up.
func TestAnswersThatAreNotRecorded(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	g := askingGate(t, j, callgate.Answer{Approved: true})
	want(t, g.Dispatch(context.Background(), g.cat, callgate.Calls(call("once", `{}`)))[0], "", callgate.Done, "")
	verify(t, j, 0)
	g.Approver = j.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Approved: true}, errors.New("the line went dead")
	})
	want(t, g.submit(1, call("once", `{}`))[0], callgate.ApprovalRejected, callgate.NotStarted, "")
	if len(approvals(t, j, "s")) != 0 {
		t.Error("an answer that was none is recorded")
	}
}
