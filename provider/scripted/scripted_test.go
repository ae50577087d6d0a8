package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/scripted"
)

// A script is text; the model that plays it is a model like others.
func Example() {
	steps, err := scripted.Parse([]byte(`
# The model gets a path wrong, reads the error, and tries again.
turn
  expect a.txt
  say  Let me look.
  call read_file {"file": "a.txt"}
turn
  expect Error [invalid_arguments]
  expect /path
  call read_file {"path": "a.txt"}
`))
	if err != nil {
		panic(err)
	}
	model := &scripted.Model{Steps: steps}
	first, _ := model.Generate(context.Background(), llm.Request{Messages: []llm.Message{llm.UserText("What is in a.txt?")}})
	fmt.Println(first.Message.Calls()[0].Name, string(first.Message.Calls()[0].Arguments))

	// Nobody answered its call: that is not what the script expects.
	_, err = model.Generate(context.Background(), llm.Request{Messages: []llm.Message{llm.UserText("What is in a.txt?"), first.Message}})
	fmt.Println(err)
	// Output:
	// read_file {"file": "a.txt"}
	// scripted: step 2 (line 7): expected "Error [invalid_arguments]"; the model was sent:
	//     Error [outcome_unknown]: the session was interrupted before the result was recorded; the call may have run: verify its effect before you repeat it
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		why, script string
		want        []scripted.Step
	}{
		{"nothing", "", nil},
		{"only a comment", "# once\n\n", nil},
		{"words", "turn\nexpect a b\nreject c\nsay hi\nsay  there", []scripted.Step{{Line: 1, Expect: []string{"a b"}, Reject: []string{"c"}, Say: "hi\n there"}}},
		{"calls", "\nturn\n call a {\"x\": 1}\n call id=7 b\n\tcall c [", []scripted.Step{{Line: 2, Calls: []scripted.Call{{Name: "a", Arguments: `{"x": 1}`}, {ID: "7", Name: "b"}, {Name: "c", Arguments: "["}}}}},
		{"arguments over several lines", "turn\ncall a {\n  |  \"x\":\n  | 1}", []scripted.Step{{Line: 1, Calls: []scripted.Call{{Name: "a", Arguments: "{\n \"x\":\n1}"}}}}},
		{"a cut turn, and one that fails", "turn\r\ncut\r\nturn\r\nfail overloaded\r\n", []scripted.Step{{Line: 1, Stop: llm.MaxTokens}, {Line: 3, Fail: "overloaded"}}},
		{"JSON", `[{"expect":["a"],"say":"hi","calls":[{"id":"1","name":"a","arguments":{"x":1.0}},{"name":"b","arguments":"{malformed"},{"name":"c"}],"stop":"max_tokens","usage":{"input":5,"output":1}}]`,
			[]scripted.Step{{Expect: []string{"a"}, Say: "hi", Calls: []scripted.Call{{ID: "1", Name: "a", Arguments: `{"x":1.0}`}, {Name: "b", Arguments: "{malformed"}, {Name: "c"}}, Stop: llm.MaxTokens, Usage: llm.Usage{Input: 5, Output: 1}}}},
	} {
		got, err := scripted.Parse([]byte(c.script))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", c.why, got, err, c.want)
		}
	}
}

func TestAScriptThatIsWrongSaysWhere(t *testing.T) {
	for _, c := range []struct{ script, says string }{
		{"say hi", "line 1"},
		{"turn\nsays hi", `line 2: there is no instruction "says"`},
		{"turn\nexpect", "line 2: expect needs a text"},
		{"turn\ncall", "line 2: call needs a text"},
		{"turn\nsay x\n| y", "line 3"},
		{"turn\ncall a {\nturn\n| }", "line 4"},
		{"turn now", `line 1: "turn" stands before`},
		{`[{"expects":["a"]}]`, "expects"},
		{`[{"calls":[{"name":"a","args":{}}]}]`, "args"},
	} {
		if got, err := scripted.Parse([]byte(c.script)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %+v, %v; want an error that says %s", c.script, got, err, c.says)
		}
	}
}

func TestStepsSurviveJSON(t *testing.T) {
	steps := []scripted.Step{
		{Expect: []string{"a"}, Say: "x", Calls: []scripted.Call{{ID: "1", Name: "a", Arguments: `{"x":1.0}`}, {Name: "b", Arguments: `{"x`}, {Name: "c", Arguments: `"text"`}, {Name: "d"}}},
		{Fail: "no"},
	}
	data, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := scripted.Parse(data); err != nil || !reflect.DeepEqual(got, steps) {
		t.Errorf("%s\ngives %+v, %v\nwant  %+v", data, got, err, steps)
	}
}

func TestDivergence(t *testing.T) {
	ask := llm.Request{Messages: []llm.Message{llm.UserText("the question")}}
	for _, c := range []struct {
		why   string
		steps []scripted.Step
		says  string
	}{
		{"what is expected does not come", []scripted.Step{{Line: 3, Expect: []string{"the", "answer"}}}, `step 1 (line 3): expected "answer"`},
		{"what is rejected comes", []scripted.Step{{Reject: []string{"question"}}}, `step 1: did not expect "question"`},
		{"the script is over", nil, "the script has only 0 steps"},
	} {
		_, err := (&scripted.Model{Steps: c.steps}).Generate(t.Context(), ask)
		d, ok := errors.AsType[*scripted.Divergence](err)
		if !ok || !strings.Contains(err.Error(), c.says) || d.Got != "the question" {
			t.Errorf("%s: %v; want %s, and what was sent", c.why, err, c.says)
		}
	}
}

// The model sees of results what a real one would: code, message, fence.
func TestItSeesWhatAModelSees(t *testing.T) {
	failed := callgate.Result{CallID: "1", Code: callgate.Conflict, Message: "read it again", Fence: "k7", Content: []callgate.Content{{Text: "partial"}}}
	m := &scripted.Model{Steps: []scripted.Step{{Expect: []string{"Error [conflict]: read it again", "<output-k7>\npartial\n</output-k7>"}, Say: "ok"}}}
	history := []llm.Message{llm.AssistantText("", callgate.Call{ID: "1", Name: "t"}), llm.Results([]callgate.Result{failed})}
	r, err := m.Generate(t.Context(), llm.Request{Messages: history})
	if err != nil || r.Message.Text() != "ok" {
		t.Errorf("%v, %v", r, err)
	}
	if err := m.Done(); err != nil {
		t.Error(err)
	}
	if got := m.Requests(); len(got) != 1 || len(got[0].Messages) != 2 {
		t.Errorf("recorded %v", got)
	}
}

func TestDoneNamesWhatIsLeft(t *testing.T) {
	m := &scripted.Model{Steps: []scripted.Step{{Say: "a"}, {Say: "b"}}}
	m.Generate(t.Context(), llm.Request{})
	if err := m.Done(); err == nil || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("got %v", err)
	}
}

func TestItHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &scripted.Model{Steps: []scripted.Step{{Say: "a"}}}
	if _, err := m.Generate(ctx, llm.Request{}); !errors.Is(err, context.Canceled) || len(m.Requests()) != 0 {
		t.Errorf("got %v after %d requests; want canceled and none", err, len(m.Requests()))
	}
}

// Calls have ids that differ, the step's own and those that are made.
func TestIDs(t *testing.T) {
	m := &scripted.Model{Steps: []scripted.Step{{Calls: []scripted.Call{{Name: "a"}, {ID: "call_1_1", Name: "b"}, {ID: " ", Name: "c"}}}}}
	r, err := m.Generate(t.Context(), llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range r.Message.Calls() {
		if strings.TrimSpace(c.ID) == "" || seen[c.ID] {
			t.Errorf("the id %q", c.ID)
		}
		seen[c.ID] = true
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("turn\n call a {\n |}\n expect x\nturn\n cut"))
	f.Add([]byte(`[{"say":"x"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		steps, err := scripted.Parse(data)
		if err != nil {
			return
		}
		m := &scripted.Model{Steps: steps}
		for range steps {
			m.Generate(t.Context(), llm.Request{})
		}
		if err := m.Done(); err != nil {
			t.Error(err)
		}
	})
}

// A model that uses what it was told: the text that a step finds stands in its
// calls and in later ones.
func TestFind(t *testing.T) {
	steps, err := scripted.Parse([]byte("turn\nfind ref artifact:[a-z]+\ncall read {\"path\":\"{{ref}}\"}\nturn\ncall read {\"path\":\"{{ref}}/x\"}\nturn\nfind ref nothing.*here\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := scripted.Model{Steps: steps}
	ask := func(text string) (llm.Response, error) {
		return m.Generate(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText(text)}})
	}
	for _, want := range []string{`{"path":"artifact:abc"}`, `{"path":"artifact:abc/x"}`} {
		r, err := ask("kept as artifact:abc, see there")
		if err != nil || string(r.Message.Calls()[0].Arguments) != want {
			t.Fatalf("%v, %v; want %s", r, err, want)
		}
	}
	if _, err := ask("something else"); err == nil || !strings.Contains(err.Error(), "nothing.*here") {
		t.Errorf("what is not found: %v", err)
	}
	if _, err := scripted.Parse([]byte("turn\nfind x (\n")); err == nil {
		t.Error("a pattern that is none is accepted")
	}
}
