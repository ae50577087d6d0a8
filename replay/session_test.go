package replay_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/agent"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/replay"
	"github.com/callgate/callgate/session"
)

// write appends a message to a session as an agent does.
func write(t *testing.T, s *journal.Session, number int, m llm.Message, stop llm.StopReason) {
	t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(&journal.Turn{Number: number, Role: string(m.Role), Format: session.Format, Body: body, Stop: string(stop), Input: 3, Output: 5}); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, m *replay.Model, messages ...llm.Message) llm.Response {
	t.Helper()
	r, err := m.Generate(t.Context(), llm.Request{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func refuses(t *testing.T, m *replay.Model, want string, messages ...llm.Message) {
	t.Helper()
	_, err := m.Generate(t.Context(), llm.Request{Messages: messages})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v; want one with %q", err, want)
	}
}

func modelOf(t *testing.T, j *journal.Journal, id string) *replay.Model {
	t.Helper()
	s, err := replay.Read(t.Context(), j, id)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The recorded messages come back, and what the model is sent must be what it was.
func TestModel(t *testing.T) {
	j := recorded(t, journal.Options{}, nil, &callgate.Dispatcher{})
	s, err := j.Begin("m", journal.About{})
	if err != nil {
		t.Fatal(err)
	}
	question, calls := llm.UserText("go"), llm.AssistantText("well", call("t", `{"a": 1}`))
	result := callgate.Text("one")
	result.CallID, result.Fence, result.Duration = "c", "ABC", 5
	results := llm.Results([]callgate.Result{result})
	write(t, s, 1, question, "")
	write(t, s, 1, calls, llm.ToolUse)
	write(t, s, 2, results, "")
	write(t, s, 2, llm.UserText("and?"), "")
	write(t, s, 2, llm.AssistantText("that"), llm.MaxTokens)
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}

	m := modelOf(t, j, "m")
	refuses(t, m, `before turn 1 the model was sent something else: block 0 was the text "go", and is the text "stop"`, llm.UserText("stop"))
	refuses(t, m, `block 1 was nothing, and is the text "more"`, question, llm.UserText("more"))
	first := ask(t, m, question)
	if got := first.Message; got.Text() != "well" || string(got.Calls()[0].Arguments) != `{"a": 1}` || first.Stop != llm.ToolUse || first.Cut || first.Usage != (llm.Usage{Input: 3, Output: 5}) {
		t.Errorf("turn 1: %+v", first)
	}
	if err := m.Done(); err == nil || !strings.Contains(err.Error(), "before turn 2; 1 of 2") {
		t.Errorf("%v", err)
	}
	other := result
	other.Content = callgate.Text("two").Content
	refuses(t, m, `before turn 2 the model was sent something else: block 0 was the result of c, `, question, calls, llm.Results([]callgate.Result{other}), llm.UserText("and?"))
	refuses(t, m, `block 1 was the text "and?", and is nothing`, question, calls, results)
	result.Fence, result.Duration = "XYZ", 9 // drawn by lot, and a time
	if r := ask(t, m, question, calls, llm.Results([]callgate.Result{result}), llm.UserText("and?")); r.Message.Text() != "that" || !r.Cut {
		t.Errorf("turn 2: %+v", r)
	}
	if err := m.Done(); err != nil {
		t.Error(err)
	}
	refuses(t, m, "2 turns have all been played", question)
}

// Turns in a provider's format, and turns that left only calls, are played from the
// rows of their calls.
func TestModelFromCalls(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
	j := recorded(t, journal.Options{}, cat, gate)
	s, err := j.Begin("s", journal.About{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(&journal.Turn{Number: 1, Role: journal.Assistant, Format: "anthropic", Body: []byte(`{"content":[…]}`)}); err != nil {
		t.Fatal(err)
	}
	var answers []llm.Message
	for n, turn := range []callgate.Turn{turnOf(0, call("t", `{"n":0}`)), turnOf(1, call("t", `{"n":1}`), call("nope", `{}`)), {Session: "s", Number: 2, Calls: []callgate.Call{call("t", `{}`)}, Cut: true}} {
		if turn.Number != n {
			t.Fatal("turns are numbered from 0")
		}
		answers = append(answers, llm.Results(gate.Dispatch(t.Context(), cat, turn)))
	}
	m := modelOf(t, j, "s")
	if r := ask(t, m, llm.UserText("whatever")); string(r.Message.Calls()[0].Arguments) != `{"n":0}` || r.Stop != llm.ToolUse || r.Cut {
		t.Errorf("turn 0: %+v", r)
	}
	refuses(t, m, "before turn 1", answers[1])
	if r := ask(t, m, answers[0]); len(r.Message.Calls()) != 2 || r.Message.Calls()[1].Name != "nope" {
		t.Errorf("turn 1: %+v", r)
	}
	if r := ask(t, m, answers[1]); !r.Cut {
		t.Errorf("turn 2 was cut off: %+v", r)
	}
	if err := m.Done(); err != nil {
		t.Error(err)
	}
}

// A turn that was cut off or filtered is played as one, even if no call of it is
// whole.
func TestModelOfTurnsThatEndedEarly(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	for _, c := range []struct {
		turn callgate.Turn
		cut  bool
		stop llm.StopReason
	}{
		{callgate.Turn{Calls: []callgate.Call{call("t", `{"a"`)}, Cut: true}, true, llm.ToolUse},
		{callgate.Turn{Calls: []callgate.Call{call("t", `{"a"`)}, Filtered: true}, false, llm.Refusal},
		{callgate.Turn{Calls: []callgate.Call{call("t", `{}`), call("t", `{"a"`)}, Filtered: true}, false, llm.Refusal},
		{callgate.Turn{Calls: []callgate.Call{call("t", `{"a"`)}}, false, llm.ToolUse},
	} {
		c.turn.Session = "s"
		gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
		j := recorded(t, journal.Options{}, cat, gate, c.turn)
		got := ask(t, modelOf(t, j, "s"), llm.UserText("go"))
		if got.Cut != c.cut || got.Stop != c.stop {
			t.Errorf("%+v: played with cut %v, stop %s", c.turn, got.Cut, got.Stop)
		}
		// The gate says the same of it.
		then, now := gate.Dispatch(t.Context(), cat, c.turn), new(callgate.Dispatcher).Dispatch(t.Context(), cat, got.Turn("", 0))
		for i := range then {
			if then[i].Message != now[i].Message {
				t.Errorf("%+v: %s; then %s", c.turn, now[i].Message, then[i].Message)
			}
		}
		r, err := replay.Check(t.Context(), j.Calls(t.Context(), "s"), cat, callgate.AllowAll)
		if err != nil || len(r.Differences) > 0 || r.Calls != len(c.turn.Calls) {
			t.Errorf("%+v: %v, %v", c.turn, r, err)
		}
		out, err := replay.Rerun(t.Context(), j.Calls(t.Context(), "s"), catalog(t, spec("t", any1, "read")), &callgate.Dispatcher{Policy: callgate.AllowAll})
		if err != nil || out.Runs > 0 || len(out.Skipped) > 0 {
			t.Errorf("%+v: %+v, %v", c.turn, out, err)
		}
	}
}

// The calls of a fork are its own; those that it shares are counted, each once,
// up to where each session of its line was left.
func TestForked(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
	j := recorded(t, journal.Options{}, cat, gate, turnOf(1, call("t", `{}`), call("nope", `{}`)), turnOf(2, call("t", `{}`)), turnOf(3, call("t", `{}`)))
	for _, f := range []struct {
		id    string
		about journal.About
	}{{"f", journal.About{Parent: "s", ParentTurn: 2}}, {"g", journal.About{Parent: "f", ParentTurn: 3}}, {"early", journal.About{Parent: "f", ParentTurn: 1}}, {"empty", journal.About{}}} {
		s, err := j.Begin(f.id, f.about)
		if err != nil {
			t.Fatal(err)
		}
		if f.id == "f" {
			turn := turnOf(3, call("t", `{"f":1}`), call("t", `{"f":2}`))
			turn.Session = "f"
			gate.Dispatch(t.Context(), cat, turn)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{
		"s":     "4 calls, 0 differences\n",
		"f":     "forked from session s after turn 2: 3 calls until then are not judged here\n2 calls, 0 differences\n",
		"g":     "forked from session f after turn 3: 5 calls until then are not judged here\n0 calls: there is nothing to judge\n",
		"early": "forked from session f after turn 1: 2 calls until then are not judged here\n0 calls: there is nothing to judge\n",
		"empty": "0 calls: there is nothing to judge\n",
	} {
		r, err := replay.Check(t.Context(), j.Calls(t.Context(), id), cat, callgate.AllowAll)
		if err == nil {
			r.Fork, err = replay.Forked(t.Context(), j, id)
		}
		if err != nil || r.String() != want || !r.Same() {
			t.Errorf("%s: %v\n%s\nwant\n%s", id, err, r, want)
		}
	}
	if _, err := replay.Forked(t.Context(), j, "nope"); err == nil {
		t.Error("a session that is not there was forked")
	}
}

// A fork is played from the beginning of the session that it was forked from.
func TestAFork(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
	j := recorded(t, journal.Options{}, cat, gate, turnOf(1, call("t", `{"n":1}`)), turnOf(2, call("t", `{"n":2}`)))
	s, err := j.Begin("s", journal.About{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, 1, llm.AssistantText("one", call("t", `{"n":1}`)), llm.ToolUse)
	write(t, s, 2, llm.AssistantText("two", call("t", `{"n":2}`)), llm.ToolUse)
	f, err := j.Begin("f", journal.About{Parent: "s", ParentTurn: 1})
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, 2, llm.AssistantText("other"), llm.EndTurn)
	tape, err := replay.Read(t.Context(), j, "f")
	if err != nil {
		t.Fatal(err)
	}
	if len(tape.Turns) != 2 || len(tape.Calls) != 1 || string(tape.Calls[0].Arguments) != `{"n":1}` {
		t.Errorf("%d turns, calls %v", len(tape.Turns), tape.Calls)
	}
	if _, err := replay.Read(t.Context(), j, "nope"); err == nil {
		t.Error("a session that is not there was read")
	}
}

// Each call is answered with its own result, once; what was not recorded is named.
func TestTools(t *testing.T) {
	answers := map[string]func() (callgate.Result, error){
		`{"do":"fail"}`: fails(callgate.ExecutionError, "it broke"),
		`{"do":"time"}`: fails(callgate.Timeout, "too slow"),
		`{"do":"down"}`: func() (callgate.Result, error) { return callgate.Result{}, callgate.NotSent(context.DeadlineExceeded) },
	}
	runs := 0
	s := spec("t", `{"type":"object","properties":{"do":{"type":"string"},"n":{"type":"integer"}}}`, "repair")
	var r callgate.Registry
	if err := r.Register(callgate.Tool{Spec: s, Handler: func(_ context.Context, c callgate.Call) (callgate.Result, error) {
		runs++
		if answer := answers[string(c.Arguments)]; answer != nil {
			return answer()
		}
		return callgate.Text(strings.Repeat("x", runs)), nil
	}}); err != nil {
		t.Fatal(err)
	}
	policy := func(_ context.Context, req callgate.Request) (callgate.Decision, error) {
		if strings.Contains(string(req.Call.Arguments), "deny") {
			return callgate.Decision{Rule: "d", Reason: "no"}, nil
		}
		return callgate.Decision{Verdict: callgate.Allow}, nil
	}
	whole := turnOf(7, call("t", `{"n":1}`), call("t", `{"n":1}`), call("t", `{"do":"fail"}`), call("t", `{"do":"time"}`), call("t", `{"do":"down"}`),
		call("t", `{"do":"deny"}`), call("t", `{"n":"4"}`), call("t", `{"n":true}`))
	gate := &callgate.Dispatcher{Policy: policy}
	j := recorded(t, journal.Options{}, r.Catalog(), gate)
	then := gate.Dispatch(t.Context(), r.Catalog(), whole)

	tape, err := replay.Read(t.Context(), j, "s")
	if err != nil {
		t.Fatal(err)
	}
	var played callgate.Registry
	if err := played.Register(tape.Tools(s, spec("new", any1))...); err != nil {
		t.Fatal(err)
	}
	// A retry tries what could not be sent again; the rules of the test allow all.
	again := &callgate.Dispatcher{Policy: callgate.AllowAll, Middleware: []callgate.Middleware{callgate.Retry{Wait: 1}.Middleware()}}
	late := turnOf(7, whole.Calls...)
	late.Session = ""
	for i, now := range again.Dispatch(t.Context(), played.Catalog(), late) {
		if now.ModelText() != then[i].ModelText() || now.Code != then[i].Code || now.State != then[i].State {
			t.Errorf("call %d: %s (%s)\nwas %s (%s)", i, now, now.State, then[i], then[i].State)
		}
	}
	for _, c := range []struct {
		call callgate.Call
		want string
	}{
		{call("t", `{"n":1}`), `2 calls of the tool "t" were recorded with the arguments {"n":1}, and all have been given`},
		{call("t", `{"n":5}`), ` calls of the tool "t" were recorded, none with the arguments {"n":5}`},
		{call("new", `{}`), `no call of the tool "new" was recorded`},
	} {
		got := again.Dispatch(t.Context(), played.Catalog(), callgate.Calls(c.call))[0]
		if got.Code != callgate.ExecutionError || !strings.Contains(got.Message, c.want) {
			t.Errorf("%s; want %q", got, c.want)
		}
	}

	open := replay.Session{Calls: []journal.Record{{Tool: "t", Arguments: json.RawMessage(`{}`)}}}
	var one callgate.Registry
	if err := one.Register(open.Tools(s)...); err != nil {
		t.Fatal(err)
	}
	if got := again.Dispatch(t.Context(), one.Catalog(), callgate.Calls(call("t", `{}`)))[0]; !strings.Contains(got.Message, "was not recorded") {
		t.Errorf("an open call is answered: %s", got)
	}
}

// The place of a call decides between results of the same call.
func TestToolsByPlace(t *testing.T) {
	tape := replay.Session{}
	for i, text := range []string{"first", "second"} {
		res := callgate.Text(text)
		tape.Calls = append(tape.Calls, journal.Record{Identity: callgate.Identity{Turn: i}, Tool: "t", Arguments: json.RawMessage(`{}`), Settled: true, Result: res})
	}
	var r callgate.Registry
	if err := r.Register(tape.Tools(spec("t", any1))...); err != nil {
		t.Fatal(err)
	}
	gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
	got := ""
	for _, number := range []int{1, 9} {
		turn := turnOf(number, call("t", `{}`))
		turn.Session = ""
		got += gate.Dispatch(t.Context(), r.Catalog(), turn)[0].ContentText() + " "
	}
	if got != "second first " {
		t.Errorf("answered %s", got)
	}
}

// An agent whose tool was changed meets the difference at once.
func TestAnAgentThatLeavesTheRecord(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
	j := recorded(t, journal.Options{}, cat, gate, turnOf(1, call("t", `{"n":1}`)), turnOf(2, call("t", `{"n":2}`)))
	a := agent.Agent{Model: modelOf(t, j, "s"), Gate: &callgate.Dispatcher{Policy: callgate.AllowAll}, Tools: func() *callgate.Catalog { return catalog(t, spec("u", any1)) }}
	_, err := a.Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "before turn 2") || !strings.Contains(err.Error(), "unknown_tool") {
		t.Errorf("%v", err)
	}
}

// A conversation keeps no results: they are taken from the calls.
func TestModelOfAConversation(t *testing.T) {
	cat := catalog(t, spec("t", any1))
	gate := &callgate.Dispatcher{Policy: callgate.AllowAll}
	j := recorded(t, journal.Options{}, cat, gate)
	c, err := session.Begin(t.Context(), j, "s", journal.About{})
	if err != nil {
		t.Fatal(err)
	}
	keep := func(number int, m llm.Message) {
		if err := c.Keep(t.Context(), number, llm.Response{Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	say := func(text string) {
		if err := c.Say(llm.UserText(text)); err != nil {
			t.Fatal(err)
		}
	}
	say("go")
	keep(1, llm.AssistantText("", call("t", `{"n":1}`)))
	results := llm.Results(gate.Dispatch(t.Context(), cat, turnOf(1, call("t", `{"n":1}`))))
	say("faster")
	keep(2, llm.AssistantText("", call("t", `{"lost":1}`)))
	say("well?")
	keep(3, llm.AssistantText("done"))

	m := modelOf(t, j, "s")
	refuses(t, m, `before turn 1`, llm.UserText("stop"))
	ask(t, m, llm.UserText("go"))
	other := llm.Results([]callgate.Result{callgate.Text("other")})
	refuses(t, m, `before turn 2 the model was sent something else: block 0 was the result of c`, other, llm.UserText("faster"))
	refuses(t, m, `block 1 was the text "faster", and is the text "slower"`, results, llm.UserText("slower"))
	ask(t, m, results, llm.UserText("faster"))
	ask(t, m, other, llm.UserText("well?")) // nobody knows what its call was answered
	if err := m.Done(); err != nil {
		t.Error(err)
	}
}
