package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/openai"
)

func result(id, text string) callgate.Result {
	r := callgate.Text(text)
	r.CallID = id
	return r
}

const png = "\x89PNG\r\n\x1a\n...."

// What a result becomes.
func TestResults(t *testing.T) {
	image := callgate.Result{CallID: "b", Content: []callgate.Content{{Type: "image", MIMEType: "image/jpeg", Data: []byte(png)}}}
	for _, c := range []struct {
		why     string
		results []callgate.Result
		want    string
	}{
		{"one message each, in order", []callgate.Result{result("a", "1"), result("b", "2")},
			`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}`},
		{"a failure says so in its text", []callgate.Result{{CallID: "a", Code: callgate.Timeout, Message: "slow"}},
			`{"role":"tool","tool_call_id":"a","content":"Error [timeout]: slow"}`},
		{"H114: no output is text", []callgate.Result{result("a", "")}, `{"role":"tool","tool_call_id":"a","content":"(no output)"}`},
		{"images follow all results", []callgate.Result{image, result("c", "3")},
			`{"role":"tool","tool_call_id":"b","content":"[image image/jpeg, 12 bytes]"},{"role":"tool","tool_call_id":"c","content":"3"},` +
				`{"role":"user","content":[{"type":"text","text":"Images that call b gave:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgouLi4u"}}]}`},
	} {
		got, err := openai.Encode(nil).Results(c.results)
		if want := `[` + c.want + `]`; err != nil || string(got) != want {
			t.Errorf("%s:\n%s %v\nwant %s", c.why, got, err, want)
		}
	}
	for _, results := range [][]callgate.Result{nil, {result("", "x")}, {result("a", "x"), result("a", "y")}} {
		if got, err := openai.Encode(nil).Results(results); err == nil {
			t.Errorf("%v became %s", results, got)
		}
	}
}

// What a history becomes.
func TestMessages(t *testing.T) {
	codec := openai.Encode(nil)
	foreign := llm.Block{Type: llm.OpaqueBlock, Provider: "anthropic", Raw: []byte(`{"type":"thinking"}`)}
	use := func(id, name, args string) llm.Message {
		return llm.AssistantText("", callgate.Call{ID: id, Name: name, Arguments: json.RawMessage(args)})
	}
	calls := func(name, args string) string {
		return `{"role":"assistant","content":null,"tool_calls":[` + toolCall("a", name, args) + `]},{"role":"tool","tool_call_id":"a","content":"ok"}`
	}
	ok := llm.Results([]callgate.Result{result("a", "ok")})
	for _, c := range []struct {
		why, system string
		history     []llm.Message
		want        string
	}{
		{"a system prompt, a question and an answer", "Be brief.", []llm.Message{llm.UserText("hi"), llm.AssistantText("ho")},
			`{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}`},
		{"a call and its result", "", []llm.Message{use("a", "weather.lookup", `{ "n": 1.0 }`), ok}, calls("weather_lookup", `{ "n": 1.0 }`)},
		{"H001: no arguments", "", []llm.Message{use("a", "t", ""), ok}, calls("t", "{}")},
		{"H029: arguments that end too early", "", []llm.Message{use("a", "t", `{"content":"line one`), ok}, calls("t", `{"_malformed_arguments":"{\"content\":\"line one"}`)},
		{"H022: a raw line break in them", "", []llm.Message{use("a", "t", "{\"c\":\"a\nb\"}"), ok}, calls("t", `{"_malformed_arguments":"{\"c\":\"a\nb\"}"}`)},
		{"arguments that are no object", "", []llm.Message{use("a", "t", `"x"`), ok}, calls("t", `{"_malformed_arguments":"\"x\""}`)},
		{"words of the user's beside the results", "", []llm.Message{use("a", "t", "{}"), {Role: llm.User, Blocks: append(ok.Blocks, llm.UserText("and now").Blocks...)}},
			calls("t", "{}") + `,{"role":"user","content":"and now"}`},
		{"an image of the user's", "", []llm.Message{{Role: llm.User, Blocks: []llm.Block{{Type: llm.TextBlock, Text: "see"}, {Type: llm.ImageBlock, Image: &callgate.Content{Data: []byte(png)}}}}},
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgouLi4u"}}]}`},
		{"another provider's reasoning is left out", "", []llm.Message{llm.UserText("hi"), {Role: llm.Assistant, Blocks: []llm.Block{foreign}}, llm.UserText("well?")},
			`{"role":"user","content":"hi"},{"role":"user","content":"well?"}`},
	} {
		got, err := codec.Messages(c.system, c.history)
		if want := "[" + c.want + "]"; err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant %s", c.why, err, got, want)
		}
	}
	if got, err := codec.Messages("", []llm.Message{{Role: "system", Blocks: llm.UserText("x").Blocks}}); err == nil {
		t.Errorf("an unknown role gives %s", got)
	}
}

// Ids over the API's 40 characters are shortened in both places, and differ.
func TestLongIDs(t *testing.T) {
	long := strings.Repeat("x", 50)
	history := []llm.Message{
		llm.AssistantText("", callgate.Call{ID: long + "1", Name: "t"}, callgate.Call{ID: long + "2", Name: "t"}),
		llm.Results([]callgate.Result{result(long+"1", "one"), result(long+"2", "two")}),
	}
	got, err := openai.Encode(nil).Messages("", history)
	if err != nil {
		t.Fatal(err)
	}
	var messages []struct {
		Calls   []struct{ ID string } `json:"tool_calls"`
		ID      string                `json:"tool_call_id"`
		Content string
	}
	if err := json.Unmarshal(got, &messages); err != nil {
		t.Fatal(err)
	}
	first, second := messages[0].Calls[0].ID, messages[0].Calls[1].ID
	if len(first) > 40 || len(second) > 40 || first == second || messages[1].ID != first || messages[2].ID != second {
		t.Errorf("ids in %s", got)
	}
}

// Members that only the server understands go back where they were.
func TestAResponseIsSentBackAsItCame(t *testing.T) {
	const message = `{"role":"assistant","content":"So.","tool_calls":[{"id":"c1","type":"function","function":{"name":"t","arguments":"{\"a\": 1.0}"},"extra_content":{"google":{"thought_signature":"x=="}}}],"reasoning_content":"a < b"}`
	codec := openai.Encode(nil)
	r, err := codec.Decode([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	saved, err := json.Marshal(r.Message)
	if err != nil {
		t.Fatal(err)
	}
	var loaded llm.Message
	if err := json.Unmarshal(saved, &loaded); err != nil {
		t.Fatal(err)
	}
	for _, m := range []llm.Message{r.Message, loaded} {
		if got := string(codec.Assistant(m)); got != message {
			t.Errorf("%s\nwant %s", got, message)
		}
	}
}
