package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/scripted"
	"github.com/callgate/callgate/session"
)

func open(t testing.TB) *journal.Journal {
	t.Helper()
	j, err := journal.Open(filepath.Join(t.TempDir(), "journal.db"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

const script = `
turn
say First.
call note {"text":"a"}
call look {"text":"b"}
call missing {}
call note {"txt":1}
turn
call note {"text":"c"}
turn
say Done.
`

// A world is an agent with tools that are counted.
type world struct {
	agent.Agent
	ran map[string]int
}

func newWorld(t testing.TB, j *journal.Journal, c *session.Conversation, script string) *world {
	t.Helper()
	w := &world{ran: map[string]int{}}
	var r callgate.Registry
	for name, a := range map[string]callgate.Annotations{"note": {}, "look": {ReadOnlyHint: true}} {
		tool := callgate.Must(callgate.Func(callgate.Spec{Name: name, Description: "A tool of a test.", Annotations: a},
			func(_ context.Context, in struct {
				Text string `json:"text"`
			}) (string, error) {
				w.ran[in.Text]++
				return "did " + in.Text, nil
			}))
		if err := r.Register(tool); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	cat := r.Catalog()
	w.Agent = agent.Agent{
		Model: &scripted.Model{Steps: steps}, Tools: func() *callgate.Catalog { return cat }, Session: c.ID(), OnResponse: c.Keep,
		Gate: &callgate.Dispatcher{Policy: callgate.AllowAll, Executor: j.Executor(nil), Observers: []callgate.Observer{j.Observer()}},
	}
	return w
}

func (w *world) say(t testing.TB, c *session.Conversation, text string) agent.Outcome {
	t.Helper()
	m := llm.UserText(text)
	if err := c.Say(m); err != nil {
		t.Fatal(err)
	}
	out, err := w.Run(context.Background(), append(slices.Clone(c.History()), m))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func begin(t testing.TB, j *journal.Journal, id string) *session.Conversation {
	t.Helper()
	c, err := session.Begin(context.Background(), j, id, journal.About{Workspace: "/ws"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resume(t testing.TB, j *journal.Journal, id string) *session.Conversation {
	t.Helper()
	c, err := session.Resume(context.Background(), j, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func same(t *testing.T, what string, got, want []llm.Message) {
	t.Helper()
	a, _ := json.MarshalIndent(got, "", " ")
	b, _ := json.MarshalIndent(want, "", " ")
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if string(a) != string(b) {
		t.Errorf("%s:\n%s\nwant\n%s", what, a, b)
	}
}

// What is resumed is what was said, with the results as they were, and it can go on
// any number of times.
func TestResume(t *testing.T) {
	j := open(t)
	c := begin(t, j, "s")
	first := newWorld(t, j, c, script).say(t, c, "Go.")
	c.Close()

	c = resume(t, j, "s")
	same(t, "resumed", c.History(), first.Messages)
	second := newWorld(t, j, c, "turn\nexpect More.\ncall note {\"text\":\"d\"}\nturn\nsay End.").say(t, c, "More.")
	c.Close()
	if last := second.Messages[len(second.Messages)-1]; last.Turn != 5 {
		t.Errorf("the turns go on at %d, want 5", last.Turn)
	}
	c = resume(t, j, "s")
	same(t, "resumed again", c.History(), second.Messages)
}

// A fork has what was said up to its turn and goes on by itself; what ran is not
// run again.
func TestFork(t *testing.T) {
	j, ctx := open(t), context.Background()
	c := begin(t, j, "s")
	whole := newWorld(t, j, c, script).say(t, c, "Go.").Messages
	c.Close()
	for turn, messages := range map[int]int{0: 0, 1: 3, 2: 5, 3: 6, -1: 6} {
		f, err := session.Fork(ctx, j, "s", turn, fmt.Sprint("fork", turn), journal.About{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("forked at ", turn), f.History(), whole[:messages])
		w := newWorld(t, j, f, "turn\nexpect Else.\ncall note {\"text\":\"e\"}\nturn\nsay End.")
		out := w.say(t, f, "Else.")
		if w.ran["e"] != 1 || len(w.ran) != 1 {
			t.Errorf("forked at %d: these ran: %v", turn, w.ran)
		}
		f.Close()
		again := resume(t, j, fmt.Sprint("fork", turn))
		same(t, fmt.Sprint("the fork at ", turn, ", resumed"), again.History(), out.Messages)
		again.Close()
	}
	// A fork of a fork, from a turn of the first.
	f, err := session.Fork(ctx, j, "fork2", 1, "deep", journal.About{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a fork of a fork", f.History(), whole[:3])
	c = resume(t, j, "s")
	same(t, "the first session", c.History(), whole)
	for _, wrong := range []struct {
		from string
		turn int
		id   string
	}{{"s", 4, "x"}, {"nobody", 0, "x"}, {"s", 1, "fork2"}, {"s", 1, "s"}} {
		if _, err := session.Fork(ctx, j, wrong.from, wrong.turn, wrong.id, journal.About{}); err == nil {
			t.Errorf("%v was forked", wrong)
		}
	}
}

func TestBegin(t *testing.T) {
	j, ctx := open(t), context.Background()
	c := begin(t, j, "s")
	if _, err := session.Resume(ctx, j, "s"); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("resumed while it is in use: %v", err)
	}
	newWorld(t, j, c, "turn\nsay Hello.").say(t, c, "Go.")
	c.Close()
	if _, err := session.Begin(ctx, j, "s", journal.About{}); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("begun again: %v", err)
	}
	if _, err := session.Resume(ctx, j, "t"); !errors.Is(err, journal.ErrNoSession) {
		t.Errorf("resumed what is not there: %v", err)
	}
	if id, err := session.Latest(ctx, j, "/ws"); id != "s" || err != nil {
		t.Errorf("the last one of the workspace: %q, %v", id, err)
	}
	if id, err := session.Latest(ctx, j, "/other"); !errors.Is(err, session.ErrNone) {
		t.Errorf("the last one of another workspace: %q, %v", id, err)
	}
	resume(t, j, "s")
	if id, err := session.Latest(ctx, j, "/ws"); !errors.Is(err, journal.ErrInUse) || id != "s" {
		t.Errorf("the last one while it is in use: %q, %v", id, err)
	}
}

// What an agent did not say cannot be sent to a model.
func TestOthersTurns(t *testing.T) {
	j := open(t)
	held, err := j.Begin("d", journal.About{})
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Append(&journal.Turn{Number: 1, Role: journal.Assistant, Format: "anthropic", Body: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	held.Release()
	if _, err := session.Resume(context.Background(), j, "d"); err == nil || !strings.Contains(err.Error(), `turn 1 of session d was not an agent's (its format is "anthropic")`) {
		t.Error(err)
	}
	if info, err := j.SessionInfo(context.Background(), "d"); err != nil || info.InUse {
		t.Errorf("it is still held: %+v, %v", info, err)
	}
}

// Whatever a crash has taken, the history is one that a model can be sent: each call
// has one result, in order, that says what is known (H065).
func TestProjectAfterAnyCrash(t *testing.T) {
	j, ctx := open(t), context.Background()
	c := begin(t, j, "s")
	newWorld(t, j, c, script).say(t, c, "Go.")
	var turns []journal.Turn
	for turn, err := range j.Turns(ctx, "s") {
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, turn)
	}
	var all []journal.Record
	for r, err := range j.Calls(ctx, "s") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(turns) != 4 || len(all) != 5 {
		t.Fatalf("%d turns, %d calls", len(turns), len(all))
	}
	states := 1
	for range all {
		states *= 3
	}
	for n := range len(turns) + 1 {
		for state := range states {
			records, want := session.Records{}, map[callgate.Identity]callgate.Code{}
			for i, s := 0, state; i < len(all); i, s = i+1, s/3 {
				r := all[i]
				switch s % 3 {
				case 0: // it was not started
					want[r.Identity] = callgate.Canceled
					continue
				case 1: // it runs, or its process died
					r.Settled, r.Result = false, callgate.Result{}
					want[r.Identity] = callgate.OutcomeUnknown
				case 2:
					want[r.Identity] = r.Code
				}
				records[r.Identity] = r
			}
			history, err := session.Project(turns[:n], records)
			if err != nil {
				t.Fatal(err)
			}
			checkPairs(t, history, want)
			if t.Failed() {
				t.Fatalf("after %d turns, in state %d", n, state)
			}
		}
	}
}

// checkPairs sees to it that each call is answered once, in order, by the next
// message, with the code that it should have.
func checkPairs(t *testing.T, history []llm.Message, want map[callgate.Identity]callgate.Code) {
	t.Helper()
	results := 0
	for i, m := range history {
		if m.Role != llm.Assistant {
			results += len(m.Results())
			continue
		}
		calls := m.Calls()
		var got []callgate.Result
		if i+1 < len(history) {
			got = history[i+1].Results()
		}
		if len(calls) != len(got) {
			t.Errorf("message %d has %d calls and %d results", i, len(calls), len(got))
			return
		}
		results -= len(got)
		for k, c := range calls {
			id := callgate.Identity{Session: "s", Turn: m.Turn, Index: k}
			if got[k].CallID != c.ID || got[k].Code != want[id] || got[k].ModelText() == "" || got[k].State == "" {
				t.Errorf("call %s: %+v, want code %q", id, got[k], want[id])
			}
		}
	}
	if results != 0 {
		t.Errorf("%d results answer no call", results)
	}
}

// A session that was imported goes on as it would have where it comes from: the model
// is sent the same, and nothing that ran runs again.
func TestImported(t *testing.T) {
	ctx := context.Background()
	j := open(t)
	c := begin(t, j, "s")
	newWorld(t, j, c, script).say(t, c, "Go.")
	c.Close()
	for _, turn := range []int{1, 3} {
		name := fmt.Sprint("fork", turn)
		c, err := session.Fork(ctx, j, "s", turn, name, journal.About{Workspace: "/ws"})
		if err != nil {
			t.Fatal(err)
		}
		newWorld(t, j, c, "turn\nexpect Fork.\ncall note {\"text\":\"f\"}\nturn\nsay End.").say(t, c, "Fork.")
		c.Close()
		c = resume(t, j, name)
		want := c.History()
		c.Close()
		var file strings.Builder
		if err := j.Export(ctx, name, &file, journal.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
		other := open(t)
		if _, err := other.Import(ctx, strings.NewReader(file.String()), "back"); err != nil {
			t.Fatal(err)
		}
		c = resume(t, other, "back")
		same(t, name, c.History(), want)
		w := newWorld(t, other, c, "turn\nexpect More.\ncall note {\"text\":\"g\"}\nturn\nsay End.")
		w.say(t, c, "More.")
		c.Close()
		if len(w.ran) != 1 || w.ran["g"] != 1 {
			t.Errorf("ran: %v", w.ran)
		}
	}
}
