package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/anthropic"
)

func result(id, text string) callgate.Result {
	r := callgate.Text(text)
	r.CallID = id
	return r
}

const png = "\x89PNG\r\n\x1a\n...."

// What a result becomes.
func TestResults(t *testing.T) {
	failed := callgate.Result{CallID: "a", Code: callgate.InvalidArguments, Message: "at /path"}
	image := callgate.Result{CallID: "a", Content: []callgate.Content{{Type: "image", MIMEType: "image/jpeg", Data: []byte(png)}}}
	noImage := callgate.Result{CallID: "a", Content: []callgate.Content{{Type: "image", MIMEType: "image/png", Data: []byte("<svg/>")}}}
	for _, c := range []struct {
		why     string
		results []callgate.Result
		want    string
	}{
		{"H067: one message, in order", []callgate.Result{result("a", "1"), result("b", "2"), result("c", "3")},
			`{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"},{"type":"tool_result","tool_use_id":"c","content":"3"}`},
		{"a failure says so", []callgate.Result{failed}, `{"type":"tool_result","tool_use_id":"a","content":"Error [invalid_arguments]: at /path","is_error":true}`},
		{"H114: no output is text, and no error", []callgate.Result{result("a", "")}, `{"type":"tool_result","tool_use_id":"a","content":"(no output)"}`},
		{"H114: no content", []callgate.Result{{CallID: "a"}}, `{"type":"tool_result","tool_use_id":"a","content":"(no output)"}`},
		{"an image has the type that its bytes show", []callgate.Result{image},
			`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"[image image/jpeg, 12 bytes]"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgouLi4u"}}]}`},
		{"bytes that are no image are only named", []callgate.Result{noImage}, `{"type":"tool_result","tool_use_id":"a","content":"[image image/png, 6 bytes]"}`},
		{"text that is not UTF-8", []callgate.Result{result("a", "x\xff")}, `{"type":"tool_result","tool_use_id":"a","content":"x` + "\uFFFD" + `"}`},
	} {
		got, err := anthropic.Encode(nil).Results(c.results)
		if want := `{"role":"user","content":[` + c.want + `]}`; err != nil || string(got) != want {
			t.Errorf("%s:\n%s %v\nwant %s", c.why, got, err, want)
		}
	}
}

func TestAnImageOverTheLimitIsNotSent(t *testing.T) {
	r := callgate.Result{CallID: "a", Content: []callgate.Content{{Type: "image", Data: append([]byte(png), make([]byte, anthropic.Limits.ImageBytes)...)}}}
	if got, _ := anthropic.Encode(nil).Results([]callgate.Result{r}); strings.Contains(string(got), "base64") {
		t.Errorf("an image of %d bytes was sent", len(r.Content[0].Data))
	}
}

func TestResultsThatAnswerNothing(t *testing.T) {
	for _, results := range [][]callgate.Result{nil, {result("", "x")}, {result(" ", "x")}, {result("a", "x"), result("a", "y")}} {
		if got, err := anthropic.Encode(nil).Results(results); err == nil {
			t.Errorf("%v became %s", results, got)
		}
	}
}

// What a history becomes.
func TestMessages(t *testing.T) {
	codec := anthropic.Encode(nil)
	thinking := llm.Block{Type: llm.OpaqueBlock, Provider: "anthropic", Raw: []byte(`{"type":"thinking","thinking":"hm","signature":"s"}`)}
	foreign := llm.Block{Type: llm.OpaqueBlock, Provider: "openai", Raw: []byte(`{"reasoning_content":"hm"}`)}
	use := func(id, name, args string) llm.Message {
		return llm.AssistantText("", callgate.Call{ID: id, Name: name, Arguments: json.RawMessage(args)})
	}
	const answered = `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}`
	ok := llm.Results([]callgate.Result{result("a", "ok")})
	for _, c := range []struct {
		why     string
		history []llm.Message
		want    string
	}{
		{"a question and an answer", []llm.Message{llm.UserText("hi"), llm.AssistantText("ho")},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"text","text":"ho"}]}`},
		{"a call and its result", []llm.Message{use("a", "weather.lookup", `{ "n": 1.0 }`), ok},
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"weather_lookup","input":{ "n": 1.0 }}]}` + answered},
		{"H001: no arguments", []llm.Message{use("a", "t", ""), ok},
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}` + answered},
		{"H029: arguments that end too early", []llm.Message{use("a", "t", `{"content":"line one`), ok},
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{"_malformed_arguments":"{\"content\":\"line one"}}]}` + answered},
		{"H022: a raw line break in them", []llm.Message{use("a", "t", "{\"c\":\"a\nb\"}"), ok},
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{"_malformed_arguments":"{\"c\":\"a\nb\"}"}}]}` + answered},
		{"H025: two objects", []llm.Message{use("a", "t", `{"p":1}{"p":2}`), ok},
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{"_malformed_arguments":"{\"p\":1}{\"p\":2}"}}]}` + answered},
		{"arguments that are no object", []llm.Message{use("a", "t", `[1]`), ok},
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{"_malformed_arguments":"[1]"}}]}` + answered},
		{"reasoning goes back to its provider only", []llm.Message{llm.UserText("hi"), {Role: llm.Assistant, Blocks: []llm.Block{thinking, foreign, {Type: llm.TextBlock, Text: "ho"}}}},
			`{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ho"}]}`},
		{"a message of nothing else is left out", []llm.Message{llm.UserText("hi"), {Role: llm.Assistant, Blocks: []llm.Block{foreign}}},
			`{"role":"user","content":[{"type":"text","text":"hi"}]}`},
		{"an id that the API refuses", []llm.Message{use("functions.t:0", "t", "{}"), llm.Results([]callgate.Result{result("functions.t:0", "ok")})},
			`{"role":"assistant","content":[{"type":"tool_use","id":"functions_t_0_ID","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_t_0_ID","content":"ok"}]}`},
		{"an image of the user's", []llm.Message{{Role: llm.User, Blocks: []llm.Block{{Type: llm.ImageBlock, Image: &callgate.Content{Data: []byte(png)}}}}},
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgouLi4u"}}]}`},
	} {
		got, err := codec.Messages(c.history)
		if err != nil || !json.Valid(got) {
			t.Errorf("%s: %v in %s", c.why, err, got)
		}
		c.want = strings.ReplaceAll(strings.ReplaceAll(c.want, "a\nb", `a\nb`), "_ID", hashIn(string(got)))
		if want := "[" + c.want + "]"; string(got) != want {
			t.Errorf("%s:\n%s\nwant %s", c.why, got, want)
		}
	}
}

// hashIn returns the suffix of a replaced id in s, which both its uses must have.
func hashIn(s string) string {
	if i := strings.Index(s, "functions_t_0"); i >= 0 {
		return s[i+len("functions_t_0") : i+len("functions_t_0")+9]
	}
	return "_ID"
}

// What the API sent goes back as it came, what the gate changed apart.
func TestAResponseIsSentBackAsItCame(t *testing.T) {
	const content = `[{"type":"thinking","thinking":"a < b","signature":"x=="},{"type":"text","text":"So.","citations":[{"type":"char_location","cited_text":"c"}]},{"type":"tool_use","id":"toolu_1","name":"t","input":{"a": 1.0},"caller":{"type":"direct"}}]`
	codec := anthropic.Encode(nil)
	r := decode(t, codec, content)
	saved, err := json.Marshal(r.Message)
	if err != nil {
		t.Fatal(err)
	}
	var loaded llm.Message
	if err := json.Unmarshal(saved, &loaded); err != nil {
		t.Fatal(err)
	}
	for _, m := range []llm.Message{r.Message, loaded} {
		if got, want := string(codec.Assistant(m)), `{"role":"assistant","content":`+content+`}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestAnUnknownRoleIsAnError(t *testing.T) {
	if got, err := anthropic.Encode(nil).Messages([]llm.Message{{Role: "system", Blocks: llm.UserText("x").Blocks}}); err == nil {
		t.Errorf("got %s", got)
	}
}
