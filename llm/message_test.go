package llm_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

func call(id, name, args string) callgate.Call {
	return callgate.Call{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func result(id, text string) callgate.Result {
	r := callgate.Text(text)
	r.CallID = id
	return r
}

// H075, H022: what was saved comes back, text for text, also what is not JSON.
func TestAMessageIsStoredLossless(t *testing.T) {
	failed := result("p3", "")
	failed.Code, failed.Message, failed.State, failed.Duration = callgate.Timeout, "too slow", callgate.Unknown, 1500*time.Millisecond
	failed.Notes, failed.Fence, failed.Truncated = []string{"a note"}, "k7", true
	for name, m := range map[string]llm.Message{
		"text":                          {Role: llm.User, Blocks: []llm.Block{{Type: llm.TextBlock, Text: "a <b> & \u2028 ü"}}},
		"calls of a turn":               {Role: llm.Assistant, Turn: 7, Blocks: llm.AssistantText("three", call("p1", "a.b", `{"x": 9007199254740993}`), call("p2", "t", "{}"), call("p3", "t", "")).Blocks},
		"arguments with a raw break":    llm.AssistantText("", call("c", "bash", "{\"command\":\"printf 'a\nb'\"}")),
		"arguments that are not UTF-8":  llm.AssistantText("", call("c", "bash", "{\"command\":\"\xff\xfe\"}")),
		"arguments that are no object":  llm.AssistantText("", call("c", "bash", `"text"`)),
		"an image":                      {Role: llm.User, Blocks: []llm.Block{{Type: llm.ImageBlock, Image: &callgate.Content{Type: "image", MIMEType: "image/png", Data: []byte{0x89, 0, 1}}}}},
		"reasoning, byte for byte":      {Role: llm.Assistant, Blocks: []llm.Block{{Type: llm.OpaqueBlock, Provider: "p", Raw: []byte(`{ "thinking" : "a < b & c", "n": 1.0 }`)}}},
		"a call with its provider's ad": {Role: llm.Assistant, Blocks: []llm.Block{{Type: llm.CallBlock, Call: &callgate.Call{ID: "a", Name: "n"}, Provider: "p", Raw: []byte(`{"signature":"x"}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			if back := reload(t, m); !equal(m, back) {
				t.Errorf("saved  %+v\nloaded %+v", m, back)
			}
		})
	}
	t.Run("results", func(t *testing.T) {
		m := llm.Results([]callgate.Result{result("p1", "one"), result("p2", "two\n"), failed})
		back := reload(t, m).Results()
		for i, r := range m.Results() {
			if back[i].CallID != r.CallID || back[i].ModelText() != r.ModelText() || back[i].Code != r.Code || back[i].Duration != r.Duration {
				t.Errorf("saved  %v\nloaded %v", r, back[i])
			}
		}
	})
}

func equal(a, b llm.Message) bool {
	if a.Role != b.Role || a.Turn != b.Turn || len(a.Blocks) != len(b.Blocks) {
		return false
	}
	for i, x := range a.Blocks {
		y := b.Blocks[i]
		if x.Call != nil {
			if y.Call == nil || x.Call.ID != y.Call.ID || x.Call.Name != y.Call.Name || !bytes.Equal(x.Call.Arguments, y.Call.Arguments) {
				return false
			}
			x.Call, y.Call = nil, nil
		}
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

func reload(t *testing.T, m llm.Message) llm.Message {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back llm.Message
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestABlockThatLacksItsContentIsRefused(t *testing.T) {
	for _, stored := range []string{`{"type":"result"}`, `{"type":"image"}`, `{"type":"video"}`, `{}`, `[]`} {
		var b llm.Block
		if err := json.Unmarshal([]byte(stored), &b); err == nil {
			t.Errorf("%s was read as %+v", stored, b)
		}
	}
}

func FuzzCallBlockIsStoredLossless(f *testing.F) {
	f.Add("c1", "bash", []byte(`{"a":1}`))
	f.Add("", "", []byte("\xff"))
	f.Add("<", "&", []byte(""))
	f.Fuzz(func(t *testing.T, id, name string, args []byte) {
		id, name = strings.ToValidUTF8(id, "?"), strings.ToValidUTF8(name, "?") // both come from JSON strings
		c := &callgate.Call{ID: id, Name: name, Arguments: args}
		data, err := json.Marshal(llm.Block{Type: llm.CallBlock, Call: c})
		if err != nil {
			t.Fatal(err)
		}
		var back llm.Block
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if back.Call.ID != id || back.Call.Name != name || !bytes.Equal(back.Call.Arguments, args) {
			t.Errorf("saved %v, loaded %v", c, back.Call)
		}
	})
}

// H071, H072: a call without an id gets one at the edge; no two have the same.
func TestWithIDs(t *testing.T) {
	for _, c := range []struct{ ids, want string }{
		{"a b c", "a b c"},
		{"- - -", "call_1 call_2 call_3"},
		{"a _ b", "a call_2 b"}, // _ is a blank
		{"a a a", "a call_2 call_3"},
		{"call_2 - call_2", "call_2 call_2_2 call_3"},
		{"- call_1", "call_1_2 call_1"},
	} {
		var calls []callgate.Call
		for id := range strings.FieldsSeq(c.ids) {
			calls = append(calls, call(strings.NewReplacer("-", "", "_", " ").Replace(shield(id)), "t", "{}"))
		}
		for i := range calls {
			calls[i].ID = strings.ReplaceAll(calls[i].ID, "\x00", "_")
		}
		m := llm.AssistantText("", calls...)
		var got []string
		for _, c := range m.WithIDs().Calls() {
			got = append(got, c.ID)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s; want %s", c.ids, s, c.want)
		}
		if s := m.Calls()[0].ID; s != calls[0].ID {
			t.Errorf("%s: the message itself was changed", c.ids)
		}
	}
}

// shield keeps the underscores of an id that is more than one of them.
func shield(id string) string {
	if len(id) > 1 {
		return strings.ReplaceAll(id, "_", "\x00")
	}
	return id
}

// H114: what a model reads of a result is never empty.
func TestResultTextIsNeverBlank(t *testing.T) {
	for _, r := range []callgate.Result{{}, callgate.Text(""), callgate.Text(" \n\t"), {Content: []callgate.Content{}}} {
		if s := llm.ResultText(r); s != "(no output)" {
			t.Errorf("%+v reads %q", r, s)
		}
	}
	if s := llm.ResultText(callgate.Text("a\xffb")); s != "a\uFFFDb" {
		t.Errorf("text that is not UTF-8 reads %q", s)
	}
}
