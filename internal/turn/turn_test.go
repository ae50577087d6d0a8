package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate"
)

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		asked, turn string
		want        string // a format, or a part of the refusal
	}{
		{"auto", `{"calls":[]}`, "callgate"},
		{"auto", `{"role":"assistant","content":[{"type":"tool_use"}]}`, "anthropic"},
		{"auto", `{"content":[{"type":"thinking"},{"type":"text"}]}`, "anthropic"},
		{"auto", `{"content":[{"type":"text","text":"hi"}]}`, "anthropic"},
		{"auto", `{"content":"hi","stop_reason":"end_turn"}`, "anthropic"},
		{"auto", `[{"type":"tool_use"}]`, "anthropic"},
		{"auto", `{"choices":[]}`, "openai"},
		{"auto", `{"content":null,"tool_calls":[]}`, "openai"},
		{"auto", `{"content":[{"type":"text"}],"tool_calls":[]}`, "openai"}, // parts of text have no format of their own
		{"auto", `{"content":[{"type":"refusal"}]}`, "openai"},
		{"auto", `{"role":"assistant","content":"hi","refusal":null}`, "openai"}, // a final answer as the API has it
		{"auto", `{"function_call":{}}`, "openai"},                               // to be refused by who knows why
		{"auto", `[{"id":"a","function":{}}]`, "openai"},
		{"auto", `[{"type":"function"}]`, "openai"},

		{"auto", `{"role":"assistant","content":"hi"}`, "cannot be told"},
		{"auto", `{}`, "cannot be told"},
		{"auto", `[]`, "cannot be told"},
		{"auto", `[1,"type",null]`, "cannot be told"},
		{"auto", `"calls"`, "cannot be told"},
		{"auto", `null`, "cannot be told"},
		{"auto", `{"CALLS":[]}`, "cannot be told"},
		{"auto", `{"calls":[],"tool_calls":[]}`, "marks of callgate and of openai"},
		{"auto", `{"tool_calls":[],"content":[{"type":"tool_use"}]}`, "marks of anthropic and of openai"},
		{"auto", `[{"type":"tool_use"},{"function":{}}]`, "marks of anthropic and of openai"},

		{"openai", `{"calls":[],"tool_calls":[]}`, "openai"}, // asked, and possible
		{"openai", `{"content":[{"type":"text"}]}`, "openai"},
		{"openai", `{"content":"hi"}`, "openai"},
		{"openai", `{"content":[{"type":"tool_use"}]}`, "marks of anthropic, and --format says openai"},
		{"anthropic", `{"tool_calls":[]}`, "marks of openai"},
		{"callgate", `{"choices":[]}`, "marks of openai"},
	} {
		f, err := Choose(test.asked, []byte(test.turn))
		switch {
		case err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("--format %s %s: %v, want %s", test.asked, test.turn, err, test.want)
		case err == nil && f.Name != test.want:
			t.Errorf("--format %s %s: %s, want %s", test.asked, test.turn, f.Name, test.want)
		}
	}
}

func TestScan(t *testing.T) {
	for _, test := range []struct {
		turn string
		want string // a part of the refusal; empty if there is none
	}{
		{`{}`, ""},
		{" {\"a\": [1, \"x\"]}\r\n\n", ""},
		{`{"a":1,"a":2}`, ""}, // for who knows whether it matters
		{"{\"a\":\"\xff\"}", ""},
		{``, "is empty"},
		{"  \n", "is empty"},
		{`{"a":`, "it is not JSON"},
		{`{"a":1} x`, "more after the turn; give one turn, or use --stream for one a line (line 1, column 9, byte 8)"},
		{"{}\n\n{}", "(line 3, column 1, byte 4)"},
		{`{"ä":}`, "(line 1, column 6, byte 6)"}, // characters and bytes count apart
		{`{'a':1}`, "(line 1, column 2, byte 1)"},
		{"[\n01]", "(line 2, column 2, byte 3)"},
		{`{"calls":[{"name":"a"},{"name":oops}]}`, "within /calls/1/name"},
		{`{"calls":[{"input":` + strings.Repeat("[", 20_000), "depth"},
	} {
		err := Scan([]byte(test.turn))
		switch {
		case (err == nil) != (test.want == ""):
			t.Errorf("%.60q: %v, want %q", test.turn, err, test.want)
		case err != nil && (!strings.Contains(err.Error(), test.want) || !errors.As(err, new(*Unreadable))):
			t.Errorf("%.60q: %v, want %q", test.turn, err, test.want)
		case err != nil && len(err.Error()) > 500:
			t.Errorf("%.60q: the refusal has %d bytes", test.turn, len(err.Error()))
		}
	}
}

func TestNative(t *testing.T) {
	for _, test := range []struct {
		turn string
		want string // id name arguments; … or a part of the refusal
	}{
		{`{"calls":[{"id":"a","name":"n","arguments":{"x":9007199254740993}}]}`, `a n {"x":9007199254740993}`},
		{`{"calls":[{"id":"a","name":"n","arguments":"{\"x\": 1e2}"}]}`, `a n {"x": 1e2}`},
		{`{"calls":[{"id":"a","name":"n","arguments":"{\"x\":"}]}`, `a n {"x":`},
		{`{"calls":[{"id":"a","name":"n","arguments":""}]}`, `a n `},
		{`{"calls":[{"id":"a","name":"n"}]}`, `a n `},
		{`{"calls":[{"id":"a","name":"n","arguments":null}]}`, `a n null`}, // the gate's to refuse
		{`{"calls":[{"id":"a","name":"n","arguments":{"x":1,"x":2}}]}`, `a n {"x":1,"x":2}`},
		{`{"calls":[{"id":"a","name":"n","arguments":"\ud800"}]}`, `a n "\ud800"`}, // no text, so no arguments either
		{`{"calls":[{"name":"n"},{"id":" ","name":"m"},{"id":"call_1","name":"o"}]}`, `call_1_2 n ; call_2 m ; call_1 o `},
		{`{"calls":[{"id":null,"name":"n","arguments":[]}]}`, `call_1 n []`},
		{`{"calls":[]}`, ``},
		{`{"calls":[{"id":7,"name":"n"}]}`, `unreadable turn: "id" of call 0 is not a string`},
		{`{"calls":[{"name":["n"]}]}`, `unreadable turn: "name" of call 0 is not a string`},
		{`{"calls":[{"nam":"n"}]}`, `unreadable turn: call 0 has a member "nam"; it takes id, name, arguments`},
		{`{"calls":[{},7]}`, `unreadable turn: call 1 is not an object`},
		{`{"calls":{}}`, `unreadable turn: the turn has no list "calls"`},
		{`{}`, `unreadable turn: the turn has no list "calls"`},
		{`{"calls":[],"calls":[]}`, `unreadable turn: the turn has the member "calls" twice`},
		{`{"calls":[],"Calls":[]}`, `unreadable turn: the turn has a member "Calls"; it takes calls, cut`},
		{`[]`, `unreadable turn: the turn is not an object`},
	} {
		r, err := native{}.Decode([]byte(test.turn))
		var calls []string
		for _, c := range r.Message.Calls() {
			calls = append(calls, c.ID+" "+c.Name+" "+string(c.Arguments))
		}
		got := strings.Join(calls, "; ")
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.turn, got, test.want)
		}
	}
}

// Whatever reads a turn in front of the gate, by name, by name in any case, the
// first member or the last, sees the calls that the gate sees.
func FuzzNative(f *testing.F) {
	f.Add([]byte(`{"calls":[{"id":"a","name":"n","arguments":{"x":1}}]}`))
	f.Add([]byte(`{"calls":[{"id":"a","name":"n","Name":"m"}],"Calls":[]}`))
	f.Add([]byte(`{"calls":[{"id":"a","n\u0061me":"n","name":"m"}]}`))
	f.Add([]byte(`{"call\u017f":[{"\u017f":1}],"calls":[]}`)) // ſ folds to s
	f.Fuzz(func(t *testing.T, turn []byte) {
		if Scan(turn) != nil {
			return
		}
		if !json.Valid(turn) {
			return // invalid UTF-8 or escapes, on which readers differ
		}
		for _, asked := range append(Names(), "auto") {
			Choose(asked, turn)
		}
		r, err := native{}.Decode(turn)
		if err != nil {
			return
		}
		var other struct { // encoding/json takes names in any case, and the last of several
			Calls []struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal(turn, &other); err != nil {
			t.Fatalf("%s is read by us and not by others: %v", turn, err)
		}
		calls := r.Message.Calls()
		if len(calls) != len(other.Calls) {
			t.Fatalf("%s has %d calls for us and %d for others", turn, len(calls), len(other.Calls))
		}
		for i, c := range calls {
			if c.Name != other.Calls[i].Name {
				t.Fatalf("%s: call %d is of %q for us and of %q for others", turn, i, c.Name, other.Calls[i].Name)
			}
		}
	})
}

// Any input is answered by one line of JSON, or refused.
func FuzzAnswer(f *testing.F) {
	f.Add("auto", []byte(`{"calls":[{"id":"a","name":"read_file","arguments":{"path":"x"}}]}`))
	f.Add("auto", []byte(`{"content":[{"type":"tool_use","id":"","name":"read_file","input":{"path":"\ud800"}},{"type":"tool_use","id":"","name":"","input":null}],"stop_reason":"max_tokens"}`))
	f.Add("openai", []byte(`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"grep","arguments":"{\"pattern\":\"(\"}"}}]}}]}`))
	f.Add("anthropic", []byte("[{\"type\":\"tool_use\",\"name\":\"glob\n\xff\",\"input\":{\"pattern\":\"*\"}}]"))
	var registry callgate.Registry
	for _, name := range []string{"read_file", "grep", "glob"} {
		tool := callgate.Must(callgate.Func(callgate.Spec{Name: name, Description: "Says what it got.", Annotations: callgate.Annotations{ReadOnlyHint: true}},
			func(_ context.Context, in struct {
				Path    string `json:"path,omitempty"`
				Pattern string `json:"pattern,omitempty"`
			}) (string, error) {
				return in.Path + in.Pattern, nil
			}))
		if err := registry.Register(tool); err != nil {
			f.Fatal(err)
		}
	}
	catalog := registry.Catalog()
	var gate callgate.Dispatcher
	f.Fuzz(func(t *testing.T, asked string, body []byte) {
		if asked != "auto" && Find(asked) == nil || Scan(body) != nil {
			return
		}
		kind, err := Choose(asked, body)
		if err != nil {
			return
		}
		codec := kind.Make(catalog)
		response, err := codec.Decode(body)
		if err != nil {
			return
		}
		if len(response.Message.Calls()) == 0 {
			return // what answers it is Kind.Nothing
		}
		reply, err := codec.Results(gate.Dispatch(t.Context(), catalog, response.Turn("s", 1)))
		if err != nil || !json.Valid(reply) || bytes.ContainsAny(reply, "\n\r") {
			t.Errorf("%q is answered by %q, %v", body, reply, err)
		}
	})
}
