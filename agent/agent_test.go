package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/scripted"
)

// A fixture has two tools: read_file, which answers at once, and block, which
// touches everything and waits until it is stopped.
type fixture struct {
	registry callgate.Registry
	mu       sync.Mutex
	ran      []string // arguments of the calls of read_file, as they came
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{}
	add := func(name string, access []callgate.Access, handler callgate.Handler) {
		err := f.registry.Register(callgate.Tool{
			Spec: callgate.Spec{Name: name, Annotations: callgate.Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
				InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"]}`)},
			Access:  func(json.RawMessage) []callgate.Access { return access },
			Handler: handler,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("read_file", []callgate.Access{{Key: "file:"}}, func(_ context.Context, call callgate.Call) (callgate.Result, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ran = append(f.ran, string(call.Arguments))
		return callgate.Text("content of " + string(call.Arguments)), nil
	})
	add("block", []callgate.Access{{Write: true}}, func(ctx context.Context, _ callgate.Call) (callgate.Result, error) {
		<-ctx.Done()
		return callgate.Result{}, context.Cause(ctx)
	})
	return f
}

func (f *fixture) agent(script string) (*agent.Agent, *scripted.Model) {
	steps, err := scripted.Parse([]byte(script))
	if err != nil {
		panic(err)
	}
	m := &scripted.Model{Steps: steps}
	return &agent.Agent{Model: m, Tools: f.registry.Catalog, Gate: &callgate.Dispatcher{Parallel: 1}, Session: "s"}, m
}

func run(t *testing.T, a *agent.Agent, ask string) agent.Outcome {
	t.Helper()
	out, err := a.Run(t.Context(), []llm.Message{llm.UserText(ask)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every way for a run to end, as a story.
func TestReasons(t *testing.T) {
	const read = `call read_file {"path":"a"}`
	for _, c := range []struct {
		name, script string
		max          int
		reason       agent.Reason
		text         string
		ran          int
	}{
		{"no calls is the final answer", "turn\n say done", 0, agent.FinalAnswer, "done", 0},
		{"calls, results, then the answer", "turn\n " + read + "\nturn\n expect content of\n say it says a", 0, agent.FinalAnswer, "it says a", 1},
		{"an answer cut off", "turn\n say once upon a\n cut", 0, agent.MaxTokens, "once upon a", 0},
		{"H027: a cut turn runs nothing, and the loop goes on",
			"turn\n " + read + "\n cut\nturn\n expect cut off at the provider's output limit\n reject content of\n say sorry", 0, agent.FinalAnswer, "sorry", 0},
		{"the model never stops", "turn\n " + read + "\nturn\n " + read + "\nturn\n say too late", 2, agent.MaxTurns, "", 2},
		{"H061: an unknown tool is a result like others",
			"turn\n " + read + "\n call run_sql {}\n call read_file {\"path\":\"b\"}\nturn\n expect content of {\"path\":\"a\"}\n expect unknown_tool\n expect content of {\"path\":\"b\"}\n say ok",
			0, agent.FinalAnswer, "ok", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			a, m := f.agent(c.script)
			a.MaxTurns = c.max
			out := run(t, a, "go")
			if out.Reason != c.reason || out.Text != c.text || len(f.ran) != c.ran {
				t.Errorf("reason %q, text %q, %d calls ran; want %q, %q, %d", out.Reason, out.Text, len(f.ran), c.reason, c.text, c.ran)
			}
			if err := m.Done(); err != nil && c.reason != agent.MaxTurns {
				t.Error(err)
			}
			pairs(t, out.Messages)
		})
	}
}

// H091: what is there decides, not the word that the model stopped with.
func TestThePresenceOfCallsDecides(t *testing.T) {
	f := newFixture(t)
	a, m := f.agent("turn\n call read_file {\"path\":\"a\"}\nturn\n expect content of\n say done")
	m.Steps[0].Stop = llm.EndTurn // it says stop, and proposes a call
	m.Steps[1].Stop = llm.ToolUse // it says tool_calls, and proposes none
	out := run(t, a, "go")
	if out.Reason != agent.FinalAnswer || len(f.ran) != 1 {
		t.Errorf("reason %q, %d calls ran; want final_answer, 1", out.Reason, len(f.ran))
	}
}

func TestAPausedTurnIsContinued(t *testing.T) {
	f := newFixture(t)
	a, m := f.agent("turn\n say searching\nturn\n say found")
	m.Steps[0].Stop = llm.Paused
	if out := run(t, a, "go"); out.Text != "found" || len(out.Messages) != 3 {
		t.Errorf("text %q after %d messages; want found after 3", out.Text, len(out.Messages))
	}
}

// All results of a turn are one message, in the order of the calls.
func TestResultsAreOneMessageInOrder(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent(`
		turn
		  call read_file {"path":"1"}
		  call read_file {"path":"2"}
		  call read_file {"path":"3"}
		turn
		  say done`)
	a.Gate = nil // the zero dispatcher, which runs them at once
	out := run(t, a, "go")
	if len(out.Messages) != 4 {
		t.Fatalf("%d messages; want user, calls, results, answer", len(out.Messages))
	}
	for i, r := range out.Messages[2].Results() {
		if want := fmt.Sprintf(`content of {"path":"%d"}`, i+1); r.ContentText() != want {
			t.Errorf("result %d is %q; want %q", i, r.ContentText(), want)
		}
	}
}

// H064: canceled in the middle of a batch, each call has its result.
func TestCancelInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		a, _ := f.agent("turn\n call read_file {\"path\":\"a\"}\n call block {\"path\":\"b\"}\n call read_file {\"path\":\"c\"}\n")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		out, err := a.Run(ctx, []llm.Message{llm.UserText("go")})
		if err != nil || out.Reason != agent.Canceled {
			t.Fatalf("reason %q, error %v; want canceled", out.Reason, err)
		}
		pairs(t, out.Messages)
		results := out.Messages[2].Results()
		if len(results) != 3 || results[0].IsError() || results[1].Code != callgate.Canceled || results[2].Code != callgate.Canceled || results[2].State != callgate.NotStarted {
			t.Errorf("results %v; want a real one, one that was stopped, one that never started", results)
		}
	})
}

func TestCanceledWhileTheModelThinks(t *testing.T) {
	f := newFixture(t)
	a, m := f.agent("turn\n say x")
	ctx, cancel := context.WithCancel(t.Context())
	m.Steps[0].Check = func(ctx context.Context, _ llm.Request) error { cancel(); return ctx.Err() }
	out, err := a.Run(ctx, []llm.Message{llm.UserText("go")})
	if err != nil || out.Reason != agent.Canceled || len(out.Messages) != 1 {
		t.Errorf("reason %q, error %v, %d messages; want canceled, none, 1", out.Reason, err, len(out.Messages))
	}
}

func TestAModelErrorKeepsTheHistory(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent("turn\n call read_file {\"path\":\"a\"}\nturn\n fail overloaded")
	out, err := a.Run(t.Context(), []llm.Message{llm.UserText("go")})
	if err == nil || !strings.Contains(err.Error(), "overloaded") || out.Reason != "" {
		t.Errorf("reason %q, error %v; want no reason and the model's error", out.Reason, err)
	}
	if len(out.Messages) != 3 {
		t.Errorf("%d messages; want 3: the turn that ran is kept", len(out.Messages))
	}
}

// The assistant's turn is kept before anything of it runs.
func TestTheTurnIsKeptFirst(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent("turn\n call read_file {\"path\":\"a\"}\nturn\n say done")
	var kept []string
	a.OnMessage = func(_ context.Context, m llm.Message) error {
		kept = append(kept, fmt.Sprintf("%s with %d calls and %d results after %d ran", m.Role, len(m.Calls()), len(m.Results()), len(f.ran)))
		return nil
	}
	run(t, a, "go")
	want := []string{"assistant with 1 calls and 0 results after 0 ran", "user with 0 calls and 1 results after 1 ran", "assistant with 0 calls and 0 results after 1 ran"}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %q\nwant %q", kept, want)
	}

	broken := errors.New("disk full")
	f = newFixture(t)
	a, _ = f.agent("turn\n call read_file {\"path\":\"a\"}")
	a.OnMessage = func(context.Context, llm.Message) error { return broken }
	if _, err := a.Run(t.Context(), nil); !errors.Is(err, broken) || len(f.ran) != 0 {
		t.Errorf("error %v, %d calls ran; want disk full and none", err, len(f.ran))
	}
}

// H069: ids that start again each turn are different calls; the numbers of turns
// go up over runs, so that identities differ too.
func TestTurnsHaveTheirOwnIdentity(t *testing.T) {
	f := newFixture(t)
	a, m := f.agent("turn\n call id=call_0 read_file {\"path\":\"1\"}\nturn\n call id=call_0 read_file {\"path\":\"2\"}\nturn\n say one\nturn\n call id=call_0 read_file {\"path\":\"3\"}\nturn\n say two")
	var ids []string
	a.Gate.Observers = []callgate.Observer{func(_ context.Context, e callgate.Event) {
		if e.Kind == callgate.Settled {
			ids = append(ids, e.Call.Identity.String())
		}
	}}
	out := run(t, a, "go")
	out, err := a.Run(t.Context(), append(out.Messages, llm.UserText("again")))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"s/1/0", "s/2/0", "s/4/0"}; !slices.Equal(ids, want) {
		t.Errorf("identities %q; want %q", ids, want)
	}
	if len(f.ran) != 3 {
		t.Errorf("%d calls ran; want 3", len(f.ran))
	}
	last := m.Requests()[4]
	pairs(t, llm.Pair(last.Messages, last.Catalog))
	pairs(t, llm.Pair(out.Messages, nil))
}

// The catalog is asked before each turn, and a turn's calls are checked against
// what it was shown.
func TestToolsAreAskedEachTurn(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent("turn\n call read_file {\"path\":\"a\"}\nturn\n expect content of\n call read_file {\"path\":\"a\"}\nturn\n expect unknown_tool\n say ok")
	var asked atomic.Int32
	a.Tools = func() *callgate.Catalog {
		if asked.Add(1) == 1 {
			return f.registry.Catalog()
		}
		return nil
	}
	run(t, a, "go")
	if asked.Load() != 3 {
		t.Errorf("asked %d times; want 3", asked.Load())
	}
}

func TestBudget(t *testing.T) {
	const read = "turn\n call read_file {\"path\":\"a\"}\n"
	t.Run("tokens: the model is not asked again", func(t *testing.T) {
		f := newFixture(t)
		a, m := f.agent(read + read)
		a.Budget = &callgate.Budget{Tokens: 100}
		m.Steps[0].Usage = llm.Usage{Input: 90, Output: 5, CacheRead: 5}
		out := run(t, a, "go")
		if out.Reason != agent.Budget || len(f.ran) != 1 || out.Usage.Total() != 100 {
			t.Errorf("reason %q, %d ran, %d tokens; want budget, 1, 100", out.Reason, len(f.ran), out.Usage.Total())
		}
		pairs(t, out.Messages)
	})
	t.Run("calls: the model may still finish", func(t *testing.T) {
		f := newFixture(t)
		a, _ := f.agent(read + "turn\n say a it is")
		a.Budget = &callgate.Budget{Calls: 1}
		a.Gate.Middleware = []callgate.Middleware{a.Budget.Middleware()}
		if out := run(t, a, "go"); out.Reason != agent.FinalAnswer {
			t.Errorf("reason %q; want final_answer", out.Reason)
		}
	})
	t.Run("calls: but not go on", func(t *testing.T) {
		f := newFixture(t)
		a, _ := f.agent(read + read + read)
		a.Budget = &callgate.Budget{Calls: 1}
		a.Gate.Middleware = []callgate.Middleware{a.Budget.Middleware()}
		out := run(t, a, "go")
		if out.Reason != agent.Budget || len(f.ran) != 1 || len(out.Messages) != 5 {
			t.Errorf("reason %q, %d ran, %d messages; want budget, 1, 5", out.Reason, len(f.ran), len(out.Messages))
		}
		if r := out.Messages[4].Results(); r[0].Code != callgate.BudgetExceeded {
			t.Errorf("the last call was answered %q; want budget_exceeded", r[0].Code)
		}
	})
}

func TestWithoutToolsOrGate(t *testing.T) {
	a := &agent.Agent{Model: &scripted.Model{Steps: []scripted.Step{{Calls: []scripted.Call{{Name: "bash", Arguments: "{}"}}}, {Expect: []string{"unknown_tool"}, Say: "ok"}}}}
	if out := run(t, a, "go"); out.Text != "ok" {
		t.Errorf("text %q; want ok", out.Text)
	}
}

// Run does not write into the history that it was given.
func TestTheHistoryIsNotTouched(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent("turn\n say one")
	spare := make([]llm.Message, 1, 4)
	spare[0] = llm.UserText("go")
	if _, err := a.Run(t.Context(), spare); err != nil {
		t.Fatal(err)
	}
	if m := spare[:2][1]; m.Role != "" {
		t.Errorf("the caller's spare capacity holds %v", m)
	}
}

// pairs fails unless every message with calls is followed by one that has just
// their results, in order.
func pairs(t *testing.T, history []llm.Message) {
	t.Helper()
	for i, m := range history {
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		if i+1 == len(history) {
			t.Fatalf("message %d has calls and nothing follows", i)
		}
		results := history[i+1].Results()
		if len(results) != len(calls) {
			t.Fatalf("message %d has %d calls, the next %d results", i, len(calls), len(results))
		}
		for j, c := range calls {
			if results[j].CallID != c.ID || c.ID == "" {
				t.Errorf("call %q is answered by the result of %q", c.ID, results[j].CallID)
			}
		}
	}
}

// A modelFunc is a model that nobody has checked.
type modelFunc func(req llm.Request) llm.Response

func (f modelFunc) Generate(_ context.Context, req llm.Request) (llm.Response, error) {
	return f(req), nil
}

// H071: whatever the model, no call is kept or answered without an id.
func TestCallsWithoutIDsGetOne(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent("")
	a.Model = modelFunc(func(req llm.Request) llm.Response {
		if len(req.Messages) > 1 {
			return llm.Response{Message: llm.AssistantText("done")}
		}
		read := callgate.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}
		return llm.Response{Message: llm.AssistantText("", read, read)}
	})
	out := run(t, a, "go")
	pairs(t, out.Messages)
	if len(f.ran) != 2 {
		t.Errorf("%d calls ran; want 2", len(f.ran))
	}
}

// Canceled in its last turn, a run says so.
func TestCanceledInTheLastTurn(t *testing.T) {
	f := newFixture(t)
	a, _ := f.agent("turn\n call read_file {\"path\":\"a\"}")
	a.MaxTurns = 1
	ctx, cancel := context.WithCancel(t.Context())
	a.Gate.Observers = []callgate.Observer{func(_ context.Context, e callgate.Event) {
		if e.Kind == callgate.Settled {
			cancel()
		}
	}}
	if out, err := a.Run(ctx, []llm.Message{llm.UserText("go")}); err != nil || out.Reason != agent.Canceled {
		t.Errorf("reason %q, error %v; want canceled", out.Reason, err)
	}
}
