package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

// A story is a history in short: one message each, "u" and "a" for who speaks,
// then +id for a call, =id for a result, and any other word for a text.
func story(s string) []llm.Message {
	var out []llm.Message
	for line := range strings.SplitSeq(s, "|") {
		words := strings.Fields(line)
		m := llm.Message{Role: llm.User}
		if words[0] == "a" {
			m.Role = llm.Assistant
		}
		for _, w := range words[1:] {
			switch w[0] {
			case '+':
				m.Blocks = append(m.Blocks, llm.AssistantText("", call(w[1:], "write", "{}")).Blocks...)
			case '=':
				m.Blocks = append(m.Blocks, llm.Results([]callgate.Result{result(w[1:], "real")}).Blocks...)
			default:
				m.Blocks = append(m.Blocks, llm.UserText(w).Blocks...)
			}
		}
		out = append(out, m)
	}
	return out
}

// tell is the inverse of story; a result that is not real is !id.
func tell(history []llm.Message) string {
	var out []string
	for _, m := range history {
		words := []string{string(m.Role[:1])}
		for _, b := range m.Blocks {
			switch b.Type {
			case llm.CallBlock:
				words = append(words, "+"+b.Call.ID)
			case llm.ResultBlock:
				mark := "="
				if b.Result.ContentText() != "real" {
					mark = "!"
				}
				words = append(words, mark+b.Result.CallID)
			default:
				words = append(words, b.Text)
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | ")
}

func TestPair(t *testing.T) {
	for _, c := range []struct{ why, history, want string }{
		{"a whole history stays", "u hi | a ok +x +y | u =x =y | a done", ""},
		{"H065: calls without results are answered", "u hi | a +x1 +x2", "u hi | a +x1 +x2 | u !x1 !x2"},
		{"H066: only what is missing is added", "u hi | a editing +e1 +e2 +e3 | u =e1 =e2", "u hi | a editing +e1 +e2 +e3 | u =e1 =e2 !e3"},
		{"H064: in the order of the calls", "u hi | a +a +b +c | u =c =a", "u hi | a +a +b +c | u =a !b =c"},
		{"H067: results in messages of their own become one", "u hi | a +1 +2 +3 | u =1 | u =2 | u =3 | a ok", "u hi | a +1 +2 +3 | u =1 =2 =3 | a ok"},
		{"what else was said comes after the results", "u hi | a +x | u wait | u =x stop", "u hi | a +x | u =x wait stop"},
		{"H069: ids that start again", "u hi | a +call_0 | u =call_0 | a +call_0 | u =call_0 | a ok", "u hi | a +call_0 | u =call_0 | a +call_0_2 | u =call_0_2 | a ok"},
		{"a new id does not take that of a sibling", "u hi | a +a | u =a | a +a +a_2 | u =a =a_2", "u hi | a +a | u =a | a +a_3 +a_2 | u =a_3 =a_2"},
		{"H071: blank ids", "u hi | a + + | u = =", "u hi | a +call_1 +call_2 | u =call_1 =call_2"},
		{"the same id twice in a turn", "u hi | a +x +x | u =x =x", "u hi | a +x +call_2 | u =x =call_2"},
		{"H073: a result whose call was cut away", "u =x | a +y | u =y", "a +y | u =y"},
		{"a second result for one call", "u hi | a +x | u =x =x", "u hi | a +x | u =x"},
		{"a result that comes a turn too late", "u hi | a +x | u well | a ok | u =x yes", "u hi | a +x | u !x well | a ok | u yes"},
		{"messages that say nothing", "u hi | a | u | a ok", "u hi | a ok"},
		{"nothing", "u", ""},
	} {
		history := story(c.history)
		if c.want == "" {
			c.want = c.history
			if c.history == "u" {
				c.want = ""
			}
		}
		got := llm.Pair(history, nil)
		if tell(got) != c.want {
			t.Errorf("%s:\n%s\ngives %s\nwant  %s", c.why, c.history, tell(got), c.want)
		}
		if tell(history) != tell(story(c.history)) {
			t.Errorf("%s: the history itself was changed", c.why)
		}
	}
}

// H065: what was interrupted may have run, unless the tool changes nothing.
func TestAnInterruptedCallSaysWhatIsKnown(t *testing.T) {
	var r callgate.Registry
	handler := func(context.Context, callgate.Call) (callgate.Result, error) { return callgate.Result{}, nil }
	err := r.Register(
		callgate.Tool{Spec: callgate.Spec{Name: "read", Annotations: callgate.Annotations{ReadOnlyHint: true}}, Handler: handler},
		callgate.Tool{Spec: callgate.Spec{Name: "write"}, Handler: handler})
	if err != nil {
		t.Fatal(err)
	}
	history := []llm.Message{llm.AssistantText("", call("1", "read", "{}"), call("2", "write", "{}"), call("3", "gone", "{}"))}
	results := llm.Pair(history, r.Catalog())[1].Results()
	for i, want := range []callgate.Code{callgate.Canceled, callgate.OutcomeUnknown, callgate.OutcomeUnknown} {
		if results[i].Code != want || !strings.Contains(results[i].Message, "interrupted") {
			t.Errorf("%s: %v; want %s, saying interrupted", results[i].Tool, results[i], want)
		}
	}
	if results := llm.Pair(history, nil)[1].Results(); results[0].Code != callgate.OutcomeUnknown {
		t.Errorf("without a catalog nothing is known; got %v", results[0])
	}
}

// On any history: every call has one result, in order, ids differ; doing it
// again changes nothing; and what is appended leaves what was there alone.
func TestPairOnRandomHistories(t *testing.T) {
	for seed := range uint64(3000) {
		history := randomHistory(rand.New(rand.NewPCG(seed, 1)))
		once := llm.Pair(history, nil)
		if err := checkPairs(once); err != nil {
			t.Fatalf("seed %d: %v\n%s\ngives %s", seed, err, tell(history), tell(once))
		}
		if twice := llm.Pair(once, nil); !reflect.DeepEqual(once, twice) {
			t.Fatalf("seed %d: not idempotent\nonce  %s\ntwice %s", seed, tell(once), tell(twice))
		}
		for n := range history {
			// A cut before a word of the assistant is a history as it was sent.
			if history[n].Role != llm.Assistant || len(llm.Pair(history[n:n+1], nil)) == 0 {
				continue
			}
			if before := llm.Pair(history[:n], nil); !reflect.DeepEqual(before, once[:len(before)]) {
				t.Fatalf("seed %d: what was sent before changed\nbefore %s\nnow    %s", seed, tell(before), tell(once))
			}
		}
	}
}

func randomHistory(r *rand.Rand) []llm.Message {
	ids := []string{"", " ", "a", "b", "call_0", "call_1", "call_1_2"}
	history := make([]llm.Message, r.IntN(8))
	for i := range history {
		m := &history[i]
		m.Role = []llm.Role{llm.User, llm.Assistant}[r.IntN(2)]
		for range r.IntN(5) {
			id := ids[r.IntN(len(ids))]
			switch r.IntN(5) {
			case 0, 1:
				m.Blocks = append(m.Blocks, llm.AssistantText("", call(id, "t", "{}")).Blocks...)
			case 2, 3:
				m.Blocks = append(m.Blocks, llm.Results([]callgate.Result{result(id, "real")}).Blocks...)
			default:
				m.Blocks = append(m.Blocks, llm.UserText([]string{"", " ", "word"}[r.IntN(3)]).Blocks...)
			}
		}
	}
	return history
}

// checkPairs is what a provider checks.
func checkPairs(history []llm.Message) error {
	ids := map[string]bool{}
	var open []string
	for i, m := range history {
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		results := m.Results()
		if len(results) != len(open) {
			return fmt.Errorf("message %d has %d results for %d calls", i, len(results), len(open))
		}
		for j, r := range results {
			if r.CallID != open[j] {
				return fmt.Errorf("message %d: result %d is for %q, the call is %q", i, j, r.CallID, open[j])
			}
			if m.Blocks[j].Type != llm.ResultBlock {
				return fmt.Errorf("message %d does not begin with its results", i)
			}
		}
		open = nil
		for _, c := range m.Calls() {
			if m.Role != llm.Assistant || strings.TrimSpace(c.ID) == "" || ids[c.ID] {
				return fmt.Errorf("message %d: bad call %q", i, c.ID)
			}
			ids[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if open != nil {
		return fmt.Errorf("calls %q are never answered", open)
	}
	return nil
}

// A history that was saved, loaded and interrupted again and again does not grow.
func TestResumingDoesNotAddEntries(t *testing.T) {
	history := story("u hi | a +x1 +x2")
	first := tell(llm.Pair(history, nil))
	for range 3 {
		data, err := json.Marshal(llm.Pair(history, nil))
		if err != nil {
			t.Fatal(err)
		}
		history = nil
		if err := json.Unmarshal(data, &history); err != nil {
			t.Fatal(err)
		}
	}
	if got := tell(llm.Pair(history, nil)); got != first {
		t.Errorf("after three resumes %s; want %s", got, first)
	}
}
