package callgate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Each case is a turn, one word a call: r reads the key, w writes it, x may do
// anything, v may read anything, ? is unknown, ! has bad arguments. want lists
// what each call waits for.
func TestPlanOrder(t *testing.T) {
	for _, tt := range []struct{ turn, want string }{
		{"r:f:a r:f:a r:f:b", "- - -"},             // reads never wait
		{"w:f:a r:f:a r:f:b", "- 0 -"},             // a read waits for the write that it follows
		{"r:f:a w:f:a r:f:a", "- 0 1"},             // and a write for the read before it
		{"w:f:a w:f:a/b w:f:ab", "- 0 -"},          // a directory covers its files, not its namesakes
		{"w:f:a/b w:f:a", "- 0"},                   // and a file is covered by its directory
		{"r:f:a x r:f:b", "- 0 1"},                 // an undeclared call is a barrier
		{"v v r:f:a", "- - -"},                     // an undeclared read is none among reads
		{"v w:f:a v", "- 0 1"},                     // but it reads everything
		{"x ? x", "- - 0"},                         // an unknown call touches nothing
		{"w:f:a ! w:f:a", "- - 0"},                 // nor does one with bad arguments
		{"r:f:a r:f:b w:f: r:f:a", "- - 0,1 2"},    // "f:" is everything of its scheme
		{"w:f:a w:g:a", "- -"},                     // schemes do not meet
		{"w:f:a w:f:b w:f:c r:f:a", "- - - 0"},     // writes to different things may run at once
		{"w:f:a w:f:a w:f:a", "- 0 0,1"},           // writes to one thing keep their order
		{"w:f:src/a w:f:src r:f:src/a", "- 0 0,1"}, // order holds through a covering key
	} {
		var r Registry
		for _, kind := range []string{"r", "w", "x", "v"} {
			tool := Tool{
				Spec: Spec{
					Name: kind, InputSchema: json.RawMessage(`{"properties":{"key":{"type":"string"}}}`),
					Annotations: Annotations{ReadOnlyHint: kind == "r" || kind == "v"},
				},
				Handler: func(context.Context, Call) (Result, error) { panic("planning runs nothing") },
			}
			if kind == "r" || kind == "w" {
				tool.Access = func(args json.RawMessage) []Access {
					var a struct{ Key string }
					json.Unmarshal(args, &a)
					return []Access{{Key: a.Key, Write: kind == "w"}}
				}
			}
			if err := r.Register(tool); err != nil {
				t.Fatal(err)
			}
		}
		var calls []Call
		for word := range strings.FieldsSeq(tt.turn) {
			name, key, _ := strings.Cut(word, ":")
			args, _ := json.Marshal(map[string]string{"key": key})
			if name == "!" {
				name, args = "w", []byte(`7`)
			}
			calls = append(calls, Call{Name: name, Arguments: args})
		}
		var got []string
		for _, s := range r.Catalog().Plan(Calls(calls...)) {
			after := strings.ReplaceAll(strings.Trim(fmt.Sprint(s.After), "[]"), " ", ",")
			if after == "" {
				after = "-"
			}
			got = append(got, after)
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: got %s, want %s", tt.turn, g, tt.want)
		}
	}
}

// What a model delivers as arguments, and what becomes of it. H001, H005, H019,
// H025, H026, H029 and H031 of the reported cases.
func TestPlanArguments(t *testing.T) {
	const object = `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}`
	for _, tt := range []struct {
		args string
		code Code   // of the refusal
		says string // in its message
		runs string // the bytes that would run
	}{
		{args: ``, runs: `{}`},
		{args: " \n\t", runs: `{}`},
		{args: `{}`, runs: `{}`},
		{args: ` {"path": "a"} `, runs: ` {"path": "a"} `}, // byte for byte
		{args: `{"n":9007199254740993}`, runs: `{"n":9007199254740993}`},
		{args: `null`, code: InvalidArguments, says: "object"},
		{args: `"x"`, code: InvalidArguments, says: "object"},
		{args: `[1]`, code: InvalidArguments, says: "object"},
		{args: `7`, code: InvalidArguments, says: "object"},
		{args: `true`, code: InvalidArguments, says: "object"},
		{args: `{"path":"ok.txt","path":"../../etc/passwd"}`, code: MalformedArguments, says: "path"},
		{args: `{"path":"ok.txt","PATH":"../../etc/passwd"}`, code: MalformedArguments, says: "PATH"},
		{args: `{"path":"a"}{"path":"b"}`, code: MalformedArguments, says: "after"},
		{args: `{"path": fst"}`, code: MalformedArguments},
		{args: `{"path":"line one`, code: MalformedArguments},
		{args: `{"path":"a","modle":"big"}`, code: InvalidArguments, says: "/modle"},
		{args: "{\"path\":\"a\xff\"}", code: MalformedArguments},
		{args: `{"path":"\ud800"}`, code: MalformedArguments},
	} {
		var r Registry
		if err := r.Register(Tool{
			Spec:    Spec{Name: "t", InputSchema: json.RawMessage(object)},
			Handler: func(context.Context, Call) (Result, error) { return Result{}, nil },
		}); err != nil {
			t.Fatal(err)
		}
		s := r.Catalog().Plan(Calls(Call{Name: "t", Arguments: json.RawMessage(tt.args)}))[0]
		switch {
		case tt.code == "" && s.Refusal != nil:
			t.Errorf("%q: refused: %v", tt.args, s.Refusal)
		case tt.code == "" && string(s.Call.Arguments) != tt.runs:
			t.Errorf("%q: %q would run, want %q", tt.args, s.Call.Arguments, tt.runs)
		case tt.code != "" && s.Refusal == nil:
			t.Errorf("%q: not refused, want %s", tt.args, tt.code)
		case tt.code != "" && (s.Refusal.Code != tt.code || !strings.Contains(s.Refusal.Message, tt.says)):
			t.Errorf("%q: %v, want %s with %q", tt.args, s.Refusal, tt.code, tt.says)
		}
	}
}

// H027: a turn that was cut at the output limit runs nothing, even where the
// arguments look whole.
// Arguments are an object even where a schema admits other values: the model was
// shown an object, and handlers and rules expect one. H005 has this kind.
func TestPlanArgumentsAreAnObject(t *testing.T) {
	for _, s := range []string{`{}`, `true`, `{"type":["object","null"]}`, `{"anyOf":[{"type":"object"},{"type":"array"}]}`, `{"type":["object","string","number"]}`} {
		var r Registry
		if err := r.Register(Tool{
			Spec:    Spec{Name: "t", InputSchema: json.RawMessage(s)},
			Handler: func(context.Context, Call) (Result, error) { return Result{}, nil },
		}); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{`null`, `[]`, `"x"`, ` 7`, `false`} {
			refusal := r.Catalog().Plan(Calls(Call{Name: "t", Arguments: json.RawMessage(args)}))[0].Refusal
			if refusal == nil || refusal.Code != InvalidArguments || len(refusal.Violations) == 0 || refusal.Violations[0].Path != "" {
				t.Errorf("%s with %s: %v, want a violation at the root", s, args, refusal)
			}
			if v, err := r.Validate("t", []byte(args)); err != nil || len(v) == 0 {
				t.Errorf("%s validates %s: %v, %v", s, args, v, err)
			}
		}
		for _, args := range []string{``, `{}`, "\n {\"a\":1}"} {
			if s := r.Catalog().Plan(Calls(Call{Name: "t", Arguments: json.RawMessage(args)}))[0]; s.Refusal != nil {
				t.Errorf("%q: %v", args, s.Refusal)
			}
		}
	}
}

func TestPlanCut(t *testing.T) {
	r := registry(t, echo("t"))
	p := r.Catalog().Plan(Turn{Calls: []Call{{Name: "t"}, {Name: "t"}}, Cut: true})
	for _, s := range p {
		if s.Refusal == nil || s.Refusal.Code != MalformedArguments || !strings.Contains(s.Refusal.Message, "output limit") {
			t.Errorf("refusal of a cut turn: %v", s.Refusal)
		}
	}
}

// A sibling: a turn that the provider's safety rules stopped runs nothing either,
// and is not said to have been too long.
func TestPlanFiltered(t *testing.T) {
	r := registry(t, echo("t"))
	s := r.Catalog().Plan(Turn{Calls: []Call{{Name: "t"}}, Filtered: true})[0]
	if s.Refusal == nil || s.Refusal.Code != MalformedArguments || !strings.Contains(s.Refusal.Message, "safety rules") || strings.Contains(s.Refusal.Message, "limit") {
		t.Errorf("refusal of a filtered turn: %v", s.Refusal)
	}
}

// The plan holds copies: what the caller does with its bytes afterwards changes
// nothing.
func TestPlanCopiesArguments(t *testing.T) {
	r := registry(t, echo("t"))
	args := []byte(`{"a":1}`)
	p := r.Catalog().Plan(Calls(Call{Name: "t", Arguments: args}))
	copy(args, `{"b":2}`)
	if got := string(p[0].Call.Arguments); got != `{"a":1}` {
		t.Errorf("the plan's arguments became %s", got)
	}
}

// echo returns a read-only tool that takes any object and answers with the bytes
// that it was given.
func echo(name string) Tool {
	return Tool{
		Spec: Spec{
			Name: name, InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)},
		},
		Handler: func(_ context.Context, c Call) (Result, error) { return Text(string(c.Arguments)), nil },
	}
}

func registry(t testing.TB, tools ...Tool) *Registry {
	t.Helper()
	r := new(Registry)
	if err := r.Register(tools...); err != nil {
		t.Fatal(err)
	}
	return r
}

// An Access that panics has not said what the call touches: everything. What it
// does to its arguments reaches nobody.
func TestPlanAccess(t *testing.T) {
	panics, scribbles := echo("panics"), echo("scribbles")
	panics.Access = func(json.RawMessage) []Access { panic("p") }
	scribbles.Access = func(args json.RawMessage) []Access { args[0] = 'x'; return read("f:a") }
	p := registry(t, panics, scribbles).Catalog().Plan(Calls(Call{Name: "panics"}, Call{Name: "scribbles"}))
	if fmt.Sprint(p[1].After) != "[0]" || string(p[1].Call.Arguments) != "{}" {
		t.Errorf("after %v, arguments %s", p[1].After, p[1].Call.Arguments)
	}
}
