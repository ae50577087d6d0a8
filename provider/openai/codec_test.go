package openai_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/openai"
)

// A server offers tools under whatever names it likes.
type server map[string]string // schema by name

func (s server) Tools() (tools []callgate.Tool, version uint64) {
	for name, schema := range s {
		tools = append(tools, callgate.Tool{
			Spec: callgate.Spec{Name: name, InputSchema: json.RawMessage(schema), Annotations: callgate.Annotations{ReadOnlyHint: true}},
			Handler: func(_ context.Context, call callgate.Call) (callgate.Result, error) {
				return callgate.Text(string(call.Arguments)), nil
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

var gate = &callgate.Dispatcher{Policy: callgate.AllowAll}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// toolCall is one entry of tool_calls whose arguments are args, as text.
func toolCall(id, name, args string) string {
	return `{"id":` + quote(id) + `,"type":"function","function":{"name":` + quote(name) + `,"arguments":` + quote(args) + `}}`
}

// H050, H052: calling each exported name reaches the tool under its exact name.
func TestNamesAreMappedBack(t *testing.T) {
	cat := catalogOf(t, server{"git/commit": "{}", "fs.read": "{}", "do it": "{}", "plain": "{}", "move_every_page_of_one_folder_into_another_of_the_archive": "{}"})
	codec := openai.Encode(cat)
	var tools []struct{ Function struct{ Name string } }
	if err := json.Unmarshal(codec.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	accepted := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	names := cat.Names()
	for i, tool := range tools {
		name := tool.Function.Name
		if !accepted.MatchString(name) || name != codec.Name(names[i]) {
			t.Errorf("%q is shown as %q", names[i], name)
		}
		for _, called := range []string{name, names[i]} { // the model may know the real name, too
			r, err := codec.Decode([]byte("[" + toolCall("1", called, "{}") + "]"))
			if err != nil {
				t.Fatal(err)
			}
			if got := gate.Dispatch(t.Context(), cat, r.Turn("", 0))[0]; got.Code != "" || got.Tool != names[i] {
				t.Errorf("%q reaches %q: %v; want %q", called, got.Tool, got, names[i])
			}
		}
	}
}

// H037: a tool without parameters has type object and properties, and no null.
func TestToolsWithoutParameters(t *testing.T) {
	cat := catalogOf(t, server{"a": `{"type":"object"}`, "b": `{}`, "c": `null`, "d": ``})
	var tools []struct {
		Function struct {
			Name       string
			Parameters map[string]json.RawMessage
		}
	}
	codec := openai.Encode(cat)
	if err := json.Unmarshal(codec.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		p := tool.Function.Parameters
		if string(p["type"]) != `"object"` || string(p["properties"]) != `{}` {
			t.Errorf("%s has %s", tool.Function.Name, p)
		}
	}
	if strings.Contains(string(codec.Tools), "null") {
		t.Errorf("a null in %s", codec.Tools)
	}
}

func TestRootKeywordsGo(t *testing.T) {
	cat := catalogOf(t, server{"a": `{"type":"object","properties":{"x":{"enum":[1]},"y":{}},"not":{"required":["x","y"]}}`})
	if s := string(openai.Encode(cat).Tools); strings.Contains(s, `"not"`) || !strings.Contains(s, `{"enum":[1]}`) {
		t.Errorf("the tools are %s", s)
	}
	if v, err := cat.Validate("mcp__gw__a", []byte(`{"x":1,"y":1}`)); err != nil || len(v) == 0 {
		t.Errorf("the not is no longer enforced: %v, %v", v, err)
	}
}

// What a response says, whatever its form.
func TestDecode(t *testing.T) {
	codec := openai.Encode(nil)
	whole := func(message, finish string) string {
		return `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":` + message + `,"finish_reason":` + quote(finish) + `}]}`
	}
	use := toolCall("c1", "t", `{"x": 1}`)
	const none = `"role":"assistant","content":null,"refusal":null`
	for _, c := range []struct{ why, in, want string }{ // want: stop, cut, text, and id name arguments of each call
		{"a whole response", whole(`{"role":"assistant","content":"Hi.","tool_calls":[`+use+`]}`, "tool_calls"), `tool_use false "Hi." c1 t {"x": 1}`},
		{"the message alone", `{` + none + `,"tool_calls":[` + use + `]}`, ` false "" c1 t {"x": 1}`},
		{"the calls alone", `[` + use + `]`, ` false "" c1 t {"x": 1}`},
		{"an answer", whole(`{"role":"assistant","content":"Hi.","tool_calls":null}`, "stop"), `end_turn false "Hi."`},
		{"content in parts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, ` false "a\nb"`},
		{"a refusal", whole(`{"role":"assistant","content":null,"refusal":"No."}`, "stop"), `refusal false "No."`},
		{"H027: cut off, and the arguments look whole", whole(`{`+none+`,"tool_calls":[`+toolCall("c", "t", `{"path":"x.txt"}`)+`]}`, "length"), `max_tokens true "" c t {"path":"x.txt"}`},
		{"H029: cut off, and it does not say so", whole(`{`+none+`,"tool_calls":[`+toolCall("c", "t", `{"content":"line one`)+`]}`, "tool_calls"), `tool_use false "" c t {"content":"line one`},
		{"H091: it says stop, and calls", whole(`{`+none+`,"tool_calls":[`+use+`]}`, "stop"), `end_turn false "" c1 t {"x": 1}`},
		{"H091: it says tool_calls, and calls nothing", whole(`{"role":"assistant","content":"Hi.","tool_calls":[]}`, "tool_calls"), `tool_use false "Hi."`},
		{"H001: empty arguments", `[` + toolCall("c", "t", "") + `]`, ` false "" c t `},
		{"no arguments", `[{"id":"c","type":"function","function":{"name":"t"}}]`, ` false "" c t `},
		{"H025: two objects stay two", `[` + toolCall("c", "t", `{"path":"a"}{"path":"b"}`) + `]`, ` false "" c t {"path":"a"}{"path":"b"}`},
		{"H026: malformed stays malformed", `[` + toolCall("c", "t", `{"mode": fst"}`) + `]`, ` false "" c t {"mode": fst"}`},
		{"an object instead of its text", `[{"id":"c","function":{"name":"t","arguments":{ "x":1.0}}}]`, ` false "" c t { "x":1.0}`},
		{"H071: no ids", `[` + toolCall("", "t", "{}") + `,{"function":{"name":"t","arguments":"{}"}}]`, ` false "" call_1 t {} call_2 t {}`},
		{"H072: a blank id", `[` + toolCall(" ", "t", "{}") + `]`, ` false "" call_1 t {}`},
		{"one id twice", `[` + use + `,` + use + `]`, ` false "" c1 t {"x": 1} call_2 t {"x": 1}`},
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

// What the gate then says of malformed arguments is the true cause.
func TestTheGateNamesTheFault(t *testing.T) {
	cat := catalogOf(t, server{"t": `{"type":"object","properties":{"mode":{"type":"string"}}}`})
	codec := openai.Encode(cat)
	for _, c := range []struct{ why, args, says, not string }{
		{"H001: empty is no fault", `""`, "{}", "Error"},
		{"H022: a raw line break", `"{\"mode\":\"a\nb\"}"`, "control character at byte 10", "unterminated"},
		{"H025: two objects", `"{\"mode\":\"a\"}{\"mode\":\"b\"}"`, "after the first value", "unterminated"},
		{"H026: a missing quote", `"{\"mode\": fst\"}"`, "malformed JSON at byte 10", "unterminated"},
		{"H029: cut off within", `"{\"mode\":\"line one"`, "unterminated JSON", "control"},
		{"half a surrogate pair in the text", `"{\"mode\":\"\ud800\"}"`, "surrogate", "unterminated"},
		{"a name twice", `"{\"mode\":\"a\",\"mode\":\"b\"}"`, "duplicate", "unterminated"},
	} {
		args := strings.ReplaceAll(c.args, "\n", `\n`)
		r, err := codec.Decode([]byte(`[{"id":"1","function":{"name":"mcp__gw__t","arguments":` + args + `}}]`))
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		got := gate.Dispatch(t.Context(), cat, r.Turn("", 0))[0].ModelText()
		if !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
			t.Errorf("%s: %s; want it to say %q and not %q", c.why, got, c.says, c.not)
		}
	}
}

// H017: an envelope that two readers could read in two ways is not read.
func TestAnEnvelopeIsNotGuessed(t *testing.T) {
	codec := openai.Encode(nil)
	for _, c := range []struct{ why, in, says string }{
		{"the name twice", `[{"id":"1","function":{"name":"read_file","name":"bash","arguments":"{}"}}]`, `"name" twice`},
		{"the name in two cases", `[{"id":"1","function":{"name":"read_file","Name":"bash","arguments":"{}"}}]`, `"Name"`},
		{"two functions", `[{"id":"1","function":{"name":"a"},"function":{"name":"b"}}]`, `"function" twice`},
		{"two lists of calls", `{"tool_calls":[],"tool_calls":[]}`, `"tool_calls" twice`},
		{"calls in another case", `{"Tool_Calls":[]}`, `"Tool_Calls"`},
		{"a call of an unknown type", `[{"id":"1","type":"custom","custom":{"name":"a"}}]`, `"custom"`},
		{"a call of the old form", `{"function_call":{"name":"a","arguments":"{}"}}`, `function_call`},
		{"a name that is no string", `[{"id":"1","function":{"name":7}}]`, `"name"`},
		{"no choice", `{"choices":[]}`, `no choice`},
		{"a choice without a message", `{"choices":[{"finish_reason":"stop"}]}`, `no message`},
		{"cut off", `{"choices":[{"mess`, `unreadable turn`},
		{"nothing", ``, `unreadable turn`},
		{"somebody else's message", `{"role":"tool","content":"x"}`, `role`},
		{"an error of the API", `{"error":{"message":"Rate limit reached"}}`, `Rate limit reached`},
	} {
		if r, err := codec.Decode([]byte(c.in)); err == nil {
			t.Errorf("%s: read as %s", c.why, summary(r))
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want it to say %s", c.why, err, c.says)
		}
	}
}

func TestUsage(t *testing.T) {
	r, err := openai.Encode(nil).Decode([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60}}}`))
	if want := (llm.Usage{Input: 40, CacheRead: 60, Output: 7}); err != nil || r.Usage != want {
		t.Errorf("usage %+v, %v; want %+v", r.Usage, err, want)
	}
}

// Whatever comes in, the calls have ids that differ, and the turn can be sent
// back as valid JSON whose arguments are objects.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":"x","reasoning_content":"y","tool_calls":[{"id":"","function":{"name":"a.b","arguments":"{"}}]},"finish_reason":"length"}]}`))
	f.Add([]byte(`[{"function":{"name":"t","arguments":{"a":1,"a":2}},"extra":"\ud800"}]`))
	f.Add([]byte(`{"content":[{"text":"x"}]}`))
	codec := openai.Encode(nil)
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
		sent, err := codec.Messages("", []llm.Message{r.Message})
		if err != nil {
			t.Fatal(err)
		}
		var messages []struct {
			Calls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
		}
		if err := json.Unmarshal(sent, &messages); err != nil {
			t.Fatalf("%q is projected to %q: %v", data, sent, err)
		}
		for _, m := range messages {
			for _, c := range m.Calls {
				var object map[string]any
				if err := json.Unmarshal([]byte(c.Function.Arguments), &object); err != nil {
					t.Fatalf("%q is projected to %q: %v", data, sent, err)
				}
			}
		}
	})
}
