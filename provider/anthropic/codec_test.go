package anthropic_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/anthropic"
)

// A server offers tools under whatever names it likes.
type server map[string]string // schema by name

func (s server) Tools() (tools []callgate.Tool, version uint64) {
	for name, schema := range s {
		tools = append(tools, callgate.Tool{
			Spec: callgate.Spec{Name: name, InputSchema: json.RawMessage(schema), Annotations: callgate.Annotations{ReadOnlyHint: true}},
			Handler: func(_ context.Context, call callgate.Call) (callgate.Result, error) {
				return callgate.Text(call.Name + " got " + string(call.Arguments)), nil
			}})
	}
	return tools, 1
}

func catalogOf(t *testing.T, tools server) *callgate.Catalog {
	t.Helper()
	var r callgate.Registry
	if err := r.Mount("mcp__gw__", tools); err != nil {
		t.Fatal(err)
	}
	if q := r.Quarantined(); q != nil {
		t.Fatalf("quarantined: %v", q)
	}
	return r.Catalog()
}

type tool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
}

func toolsOf(t *testing.T, c *anthropic.Codec) []tool {
	t.Helper()
	var tools []tool
	if err := json.Unmarshal(c.Tools, &tools); err != nil {
		t.Fatalf("%v in %s", err, c.Tools)
	}
	return tools
}

func decode(t *testing.T, c *anthropic.Codec, response string) llm.Response {
	t.Helper()
	r, err := c.Decode([]byte(response))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var gate = &callgate.Dispatcher{Policy: callgate.AllowAll}

const anything = `{"type":"object","properties":{}}`

// H050, H052: calling each exported name reaches the tool under its exact name.
func TestNamesAreMappedBack(t *testing.T) {
	cat := catalogOf(t, server{"git/commit": anything, "fs.read": anything, "do it": anything, "plain": anything,
		"move_every_page_of_one_folder_into_another_of_the_archive": anything /* H052: too long with its prefix */})
	codec := anthropic.Encode(cat)
	accepted := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	names := cat.Names()
	for i, tool := range toolsOf(t, codec) {
		if !accepted.MatchString(tool.Name) || tool.Name != codec.Name(names[i]) {
			t.Errorf("%q is shown as %q", names[i], tool.Name)
		}
		for _, called := range []string{tool.Name, names[i]} { // the model may know the real name, too
			r := decode(t, codec, `[{"type":"tool_use","id":"1","name":`+quote(called)+`,"input":{}}]`)
			if got := gate.Dispatch(t.Context(), cat, r.Turn("", 0))[0]; got.Code != "" || got.Tool != names[i] {
				t.Errorf("%q reaches %q: %v; want %q", called, got.Tool, got, names[i])
			}
		}
	}
	r := decode(t, codec, `[{"type":"tool_use","id":"1","name":"run_sql","input":{}}]`)
	if got := gate.Dispatch(t.Context(), cat, r.Turn("", 0))[0]; got.Code != callgate.UnknownTool {
		t.Errorf("an invented name gives %v; want unknown_tool", got)
	}
}

// H055, H057: tools of one name from two servers, and of a built-in's name, are
// all shown and each reached, whoever connected first.
func TestSourcesDoNotCollide(t *testing.T) {
	var shown []string
	for _, order := range [][]string{{"a", "b", "bash"}, {"bash", "b", "a"}} {
		var r callgate.Registry
		builtin := server{"bash": anything}
		tools, _ := builtin.Tools()
		if err := r.Register(tools...); err != nil {
			t.Fatal(err)
		}
		for _, name := range order {
			offers := server{"post_note": anything}
			if name == "bash" {
				offers = builtin
			}
			if err := r.Mount("mcp__"+name+"__", offers); err != nil {
				t.Fatal(err)
			}
		}
		codec := anthropic.Encode(r.Catalog())
		var names []string
		for _, tool := range toolsOf(t, codec) {
			names = append(names, tool.Name)
			got := decode(t, codec, `[{"type":"tool_use","id":"1","name":`+quote(tool.Name)+`,"input":{}}]`).Message.Calls()[0].Name
			if codec.Name(got) != tool.Name {
				t.Errorf("%q leads to %q", tool.Name, got)
			}
		}
		slices.Sort(names)
		if shown == nil {
			shown = names
		}
		if want := []string{"bash", "mcp__a__post_note", "mcp__b__post_note", "mcp__bash__bash"}; !slices.Equal(names, want) || !slices.Equal(names, shown) {
			t.Errorf("shown as %q; want %q", names, want)
		}
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// H045: the handler gets the property names of its own schema, and all else as
// the model wrote it.
func TestPropertyNamesAreMappedBack(t *testing.T) {
	cat := catalogOf(t, server{"list": `{"type":"object","properties":{"sort[by]":{"type":"string"},"$skip":{"type":"integer"}},"required":["sort[by]"],"additionalProperties":false}`})
	codec := anthropic.Encode(cat)
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(toolsOf(t, codec)[0].Schema, &schema); err != nil {
		t.Fatal(err)
	}
	accepted := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	input, skip := "", ""
	for name := range schema.Properties {
		if !accepted.MatchString(name) {
			t.Errorf("the property %q is refused", name)
		}
		if strings.HasPrefix(name, "skip") {
			skip = name
		}
	}
	if len(schema.Properties) != 2 || len(schema.Required) != 1 || schema.Properties[schema.Required[0]] == nil {
		t.Fatalf("properties %v, required %v", schema.Properties, schema.Required)
	}
	input = `{ "` + skip + `": 9007199254740993, "` + schema.Required[0] + `":"a\u0062" }`
	r := decode(t, codec, `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"mcp__gw__list","input":`+input+`}]}`)
	if got, want := string(r.Message.Calls()[0].Arguments), `{ "$skip": 9007199254740993, "sort[by]":"a\u0062" }`; got != want {
		t.Errorf("the arguments are %s; want %s", got, want)
	}
	if got := gate.Dispatch(t.Context(), cat, r.Turn("", 0))[0]; got.Code != "" {
		t.Errorf("the call fails: %v", got)
	}
	// In the history the model sees what it wrote.
	if sent := string(codec.Assistant(r.Message)); !strings.Contains(sent, `"input":`+input) {
		t.Errorf("the history says %s; want the input %s", sent, input)
	}
}

// H033, H035: what is shown is lowered; what is enforced is the original.
func TestTheOriginalIsEnforced(t *testing.T) {
	cat := catalogOf(t, server{
		"old": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}}`,
		"one": `{"type":"object","properties":{"by_id":{"type":"string"},"by_name":{"type":"string"}},"oneOf":[{"required":["by_id"]},{"required":["by_name"]}]}`})
	codec := anthropic.Encode(cat)
	if s := string(codec.Tools); strings.Contains(s, "$schema") || strings.Contains(s, "oneOf") {
		t.Errorf("the tools are %s", s)
	}
	for _, c := range []struct {
		name, input string
		code        callgate.Code
	}{
		{"old", `{"n":1}`, ""},
		{"old", `{"n":0}`, callgate.InvalidArguments},
		{"one", `{"by_id":"a"}`, ""},
		{"one", `{}`, callgate.InvalidArguments},
		{"one", `{"by_id":"a","by_name":"b"}`, callgate.InvalidArguments},
	} {
		r := decode(t, codec, `[{"type":"tool_use","id":"1","name":"mcp__gw__`+c.name+`","input":`+c.input+`}]`)
		if got := gate.Dispatch(t.Context(), cat, r.Turn("", 0))[0]; got.Code != c.code {
			t.Errorf("%s%s gives %v; want %q", c.name, c.input, got, c.code)
		}
	}
}

// What a response says, whatever its form.
func TestDecode(t *testing.T) {
	codec := anthropic.Encode(nil)
	const use = `{"type":"tool_use","id":"a","name":"t","input":{"x":1}}`
	for _, c := range []struct{ why, in, want string }{ // want: stop, cut, text, and id name arguments of each call
		{"a whole response", `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi."},` + use + `],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}`, `tool_use false "Hi." a t {"x":1}`},
		{"the message alone", `{"role":"assistant","content":[` + use + `]}`, ` false "" a t {"x":1}`},
		{"its content alone", `[` + use + `]`, ` false "" a t {"x":1}`},
		{"content that is a string", `{"role":"assistant","content":"Hi."}`, ` false "Hi."`},
		{"no content", `{"role":"assistant","content":[],"stop_reason":"end_turn"}`, `end_turn false ""`},
		{"H027: cut off", `{"role":"assistant","content":[` + use + `],"stop_reason":"max_tokens"}`, `max_tokens true "" a t {"x":1}`},
		{"cut off by the context window", `{"role":"assistant","content":[],"stop_reason":"model_context_window_exceeded"}`, `max_tokens true ""`},
		{"H091: it says that it ended, and calls", `{"role":"assistant","content":[` + use + `],"stop_reason":"end_turn"}`, `end_turn false "" a t {"x":1}`},
		{"a reason of tomorrow", `{"content":[],"stop_reason":"bored"}`, `other false ""`},
		{"H071: no ids", `[{"type":"tool_use","id":"","name":"t","input":{}},{"type":"tool_use","name":"t","input":{}}]`, ` false "" call_1 t {} call_2 t {}`},
		{"H072: a blank id", `[{"type":"tool_use","id":" ","name":"t","input":{}}]`, ` false "" call_1 t {}`},
		{"one id twice", `[` + use + `,` + use + `]`, ` false "" a t {"x":1} call_2 t {"x":1}`},
		{"no input", `[{"type":"tool_use","id":"a","name":"t"}]`, ` false "" a t `},
		{"an input that is no object is the gate's to refuse", `[{"type":"tool_use","id":"a","name":"t","input":"{}"}]`, ` false "" a t "{}"`},
		{"so is one with a name twice", `[{"type":"tool_use","id":"a","name":"t","input":{"p":1,"p":2}}]`, ` false "" a t {"p":1,"p":2}`},
		{"the input's bytes are untouched", `[{"type":"tool_use","id":"a","name":"t","input":{ "b" : 1.10, "a":"\u0041" }}]`, ` false "" a t { "b" : 1.10, "a":"\u0041" }`},
		{"a tool that the provider runs is no call", `[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"thinking","thinking":"","signature":"x"}]`, ` false ""`},
	} {
		r, err := codec.Decode([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if got := summary(r); got != c.want {
			t.Errorf("%s: %s; want %s", c.why, got, c.want)
		}
	}
}

func summary(r llm.Response) string {
	cut := " false "
	if r.Turn("", 0).Cut {
		cut = " true "
	}
	s := string(r.Stop) + cut + quote(r.Message.Text())
	for _, c := range r.Message.Calls() {
		s += " " + c.ID + " " + c.Name + " " + string(c.Arguments)
	}
	return s
}

// H017: an envelope that two readers could read in two ways is not read.
func TestAnEnvelopeIsNotGuessed(t *testing.T) {
	codec := anthropic.Encode(nil)
	for _, c := range []struct{ why, in, says string }{
		{"the name twice", `[{"type":"tool_use","id":"1","name":"read_file","name":"bash","input":{}}]`, `"name" twice`},
		{"the name in two cases", `[{"type":"tool_use","id":"1","name":"read_file","Name":"bash","input":{}}]`, `"Name"`},
		{"the input in another case", `[{"type":"tool_use","id":"1","name":"t","INPUT":{}}]`, `"INPUT"`},
		{"two contents", `{"content":[],"content":[]}`, `"content" twice`},
		{"a name that is no string", `[{"type":"tool_use","id":"1","name":7,"input":{}}]`, `"name"`},
		{"an id that is no string", `[{"type":"tool_use","id":1,"name":"t","input":{}}]`, `"id"`},
		{"a block without a type", `[{"text":"x"}]`, `no type`},
		{"a block that is no object", `["x"]`, `a string where an object`},
		{"malformed", `[{"type":"tool_use","input":{"a":}}]`, `unreadable turn`},
		{"cut off", `{"content":[{"type":"te`, `unreadable turn`},
		{"two values", `{"content":[]}{}`, `after`},
		{"nothing", ``, `unreadable turn`},
		{"somebody else's message", `{"role":"user","content":"x"}`, `role`},
		{"an error of the API", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, `overloaded_error`},
		{"no content member", `{"role":"assistant"}`, `no content`},
	} {
		if r, err := codec.Decode([]byte(c.in)); err == nil {
			t.Errorf("%s: read as %s", c.why, summary(r))
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want it to say %s", c.why, err, c.says)
		}
	}
}

func TestUsage(t *testing.T) {
	r := decode(t, anthropic.Encode(nil), `{"content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":200,"cache_creation_input_tokens":3000,"output_tokens":4}}`)
	if want := (llm.Usage{Input: 10, CacheRead: 200, CacheWrite: 3000, Output: 4}); r.Usage != want {
		t.Errorf("usage %+v; want %+v", r.Usage, want)
	}
}

func TestNoToolsIsNoMember(t *testing.T) {
	if c := anthropic.Encode(nil); c.Tools != nil {
		t.Errorf("tools %s; want none", c.Tools)
	}
}

// Whatever comes in, the calls have ids that differ, and the turn can be sent
// back as valid JSON that has them.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"tool_use","id":"","name":"fs.read","input":{"a":[1]}},{"type":"text","text":"x","citations":[{}]}],"stop_reason":"max_tokens"}`))
	f.Add([]byte(`[{"type":"thinking","thinking":"\ud800"},{"type":"tool_use","input":{"a":1,"a":2}}]`))
	f.Add([]byte(`{"content":"x"}`))
	codec := anthropic.Encode(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := codec.Decode(data)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, c := range r.Message.Calls() {
			if strings.TrimSpace(c.ID) == "" || seen[c.ID] {
				t.Fatalf("the id %q in %s", c.ID, data)
			}
			seen[c.ID] = true
		}
		if back := codec.Assistant(r.Message); !json.Valid(back) {
			t.Fatalf("%q is sent back as %q", data, back)
		}
		if sent, err := codec.Messages([]llm.Message{r.Message}); err != nil || !json.Valid(sent) {
			t.Fatalf("%q is projected to %q: %v", data, sent, err)
		}
	})
}
