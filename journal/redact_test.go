package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/schema"
)

var secrets = []*regexp.Regexp{regexp.MustCompile(`sk-[a-z0-9]+`), regexp.MustCompile(`(?i)bearer [a-z]+`), regexp.MustCompile(`4[0-9]{15}`)}

// Only what matches is replaced, whatever it is written like; all else keeps its bytes.
func TestRedact(t *testing.T) {
	j := &Journal{opts: Options{Redact: secrets}}
	for _, c := range [][2]string{
		{`{"key":"sk-abc1"}`, `{"key":"REDACTED"}`},
		{`{"key": "a sk-abc1 b", "n":1.50e3 ,"é":"\u00e9\/"}`, `{"key": "a REDACTED b", "n":1.50e3 ,"é":"\u00e9\/"}`},
		{`{"sk-abc1":{"sk-abc2":[]}}`, `{"REDACTED":{"REDACTED":[]}}`},
		{`{"k":"\u0073k-abc1"}`, `{"k":"REDACTED"}`},
		{`{"k":"\u0073\u006b\u002dabc1 and \"more\""}`, `{"k":"REDACTED and \"more\""}`},
		{`["\"", "sk-abc1", "\\", "sk-abc2\\"]`, `["\"", "REDACTED", "\\", "REDACTED\\"]`},
		{`["\\\"sk-abc1\\\"","\\\\"]`, `["\\\"REDACTED\\\"","\\\\"]`},
		{`["sk-","abc1"]`, `["sk-","abc1"]`}, // not across strings
		{`"sk-abc1"`, `"REDACTED"`},
		{` [ "BEARER token" , 1 ] `, ` [ "REDACTED" , 1 ] `},
		{`{"sk-a":1,"sk-b":2}`, `{"REDACTED":1,"REDACTED":2}`},
		{`{"a":1,"a":"sk-abc1"}`, `{"a":1,"a":"REDACTED"}`},
		{"{\"a\":\"\xff sk-abc1\",\"b\":\"\xff\"}", "{\"a\":\"\ufffd REDACTED\",\"b\":\"\xff\"}"}, // what is changed is text
		// JSON in a string, as some providers send arguments.
		{`{"arguments":"{\"k\":\"sk-abc1\"}"}`, `{"arguments":"{\"k\":\"REDACTED\"}"}`},
		{`{"arguments":"{\"k\":\"\\u0073k-abc1\", \"n\":1}"}`, `{"arguments":"{\"k\":\"REDACTED\", \"n\":1}"}`},
		{`{"a":"[\"[\\\"\\\\u0073k-abc1\\\"]\"]"}`, `{"a":"[\"[\\\"REDACTED\\\"]\"]"}`},
		{`{"a":"{\"n\":1}  "}`, `{"a":"{\"n\":1}  "}`},
		// What is no JSON is text.
		{`{"k":"sk-abc1"`, `{"k":"REDACTED"`},
		{`sk-abc1 sk-abc2`, `REDACTED REDACTED`},
		{"{\"k\":\"sk-abc1\"}\n{\"k\":\"sk-abc2\"}", "{\"k\":\"REDACTED\"}\n{\"k\":\"REDACTED\"}"},
		{"\x00\xff sk-abc1", "\x00\xff REDACTED"},
		{strings.Repeat("[", 20_000) + "sk-abc1", strings.Repeat("[", 20_000) + "REDACTED"},
		{"{\"k\":\"\\u0073k-abc1\"}\n\n[\"sk-b\"] \n", "{\"k\":\"REDACTED\"}\n\n[\"REDACTED\"] \n"}, // JSON Lines
		{`4111111111111111 {"k":"\u0073k-abc1 sk-abc1"}`, `REDACTED {"k":"\u0073k-abc1 REDACTED"}`},
		{`4111111111111111`, `REDACTED`},
		{`{"n":4111111111111111,"s":"4111111111111111"}`, `{"n":4111111111111111,"s":"REDACTED"}`},
		{``, ``}, {` `, ` `}, {`{}`, `{}`}, {`null`, `null`},
	} {
		before := []byte(c[0])
		got, redacted := j.redact(before)
		if string(got) != c[1] || redacted != (c[0] != c[1]) {
			t.Errorf("%.200s\ngives %.200s, %t\nwant  %.200s", c[0], got, redacted, c[1])
		}
		if string(before) != c[0] || got == nil {
			t.Errorf("%.200s: the argument was changed, or the result is nil", c[0])
		}
		if again, redacted := j.redact(got); string(again) != string(got) || redacted {
			t.Errorf("%.200s: twice gives %.200s", c[0], again)
		}
	}
	var none Journal
	if got, redacted := none.redact([]byte(`sk-abc1`)); string(got) != `sk-abc1` || redacted {
		t.Errorf("without patterns: %s", got)
	}
}

// No secret stays in any string, JSON stays JSON, and other bytes come to no harm:
// on random changes of what has secrets. (A fuzz target here would have the compiler
// instrument all of SQLite, which takes it many gigabytes.)
func TestRedactRandom(t *testing.T) {
	seeds := []string{`{"a":"sk-abc1"}`, `["\u0073k-abc1","\\\"",7]`, `{"a":"{\"b\":\"\\u0073k-z\"}"}`, `sk-a`, "\"\xffsk-1\"", `[1, {"sk-q" : null}]`}
	j := &Journal{opts: Options{Redact: secrets[:1]}}
	check := func(data []byte) {
		got, redacted := j.redact(data)
		if redacted == bytes.Equal(got, data) {
			t.Errorf("%q gives %q, %t", data, got, redacted)
		}
		if !json.Valid(data) {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q gives %q, which is no JSON", data, got)
		}
		var strs func(v any)
		strs = func(v any) {
			switch v := v.(type) {
			case string:
				if secrets[0].MatchString(v) {
					t.Errorf("%q gives %q", data, got)
				}
			case []any:
				for _, e := range v {
					strs(e)
				}
			case map[string]any:
				for k, e := range v {
					strs(k)
					strs(e)
				}
			}
		}
		var v any
		if json.Unmarshal(got, &v) == nil {
			strs(v)
		}
	}
	valid := 0
	for range 30_000 {
		data := []byte(seeds[rand.IntN(len(seeds))])
		for range rand.IntN(4) {
			switch at := rand.IntN(len(data)); rand.IntN(3) {
			case 0:
				data[at] = `"\{}[]:, sk-u0'`[rand.IntN(15)]
			case 1:
				data = slices.Delete(data, at, at+1)
			default:
				other := seeds[rand.IntN(len(seeds))]
				data = slices.Insert(data, at, []byte(other[rand.IntN(len(other)):])...)
			}
			if len(data) == 0 {
				data = []byte{'"'}
			}
		}
		if json.Valid(data) {
			valid++
		}
		check(data)
	}
	if valid < 1000 {
		t.Errorf("only %d were JSON", valid)
	}
}

// Everything that a result says, and why a call was judged as it was.
func TestRedactResult(t *testing.T) {
	const secret = "sk-abc1"
	g := newRig(t, Options{Redact: secrets}, nil)
	id := callgate.Identity{Session: "s", Turn: 1}
	x := &callgate.Execution{Call: callgate.Call{Name: "t", Arguments: json.RawMessage(`{"k":"sk-abc1"}`), Identity: id}, Spec: &callgate.Spec{Name: "t"},
		Decision: callgate.Decision{Verdict: callgate.Allow, Reason: "it has " + secret}}
	r, err := g.claim(x, x.Digest())
	if err != nil {
		t.Fatal(err)
	}
	res := callgate.Result{
		Message: secret, Notes: []string{"a", secret}, Structured: json.RawMessage(`{"a":"\u0073k-abc1"}`), Code: callgate.Timeout, State: callgate.Unknown,
		Content:    []callgate.Content{{Type: "text", Text: secret}, {Type: "resource_link", URI: "x:" + secret, Name: secret}, {Type: "image", Data: []byte{1, 2}}},
		Violations: []schema.Violation{{Path: "/" + secret, Keyword: "type", Message: secret, Expected: secret, Got: secret, Allowed: []string{secret}, Closest: secret}},
	}
	before, _ := json.Marshal(res)
	if err := g.settle(r, callgate.Outcome{Result: res}); err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(res); !bytes.Equal(before, after) {
		t.Errorf("the answer was changed: %s", after)
	}
	if _, err := g.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		return callgate.Answer{Message: secret}, nil
	})(context.Background(), callgate.Request{Call: x.Call}, x.Decision); err != nil {
		t.Error(err)
	}
	s, err := g.Begin("t", About{Title: "use " + secret})
	if err == nil {
		err = s.Append(&Turn{Body: []byte("{\"a\":\"\\u0073k-abc1\"}")})
	}
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range g.Calls(context.Background(), "s") {
		if err != nil || !rec.Redacted || rec.Digest != x.Digest() || string(rec.Arguments) != `{"k":"REDACTED"}` || rec.Decision.Reason != "it has REDACTED" ||
			rec.Result.Message != "REDACTED" || len(rec.Result.Content) != 3 || !bytes.Equal(rec.Result.Content[2].Data, []byte{1, 2}) || rec.Result.Notes[0] != "a" {
			t.Errorf("%+v, %v", rec, err)
		}
	}
	for turn, err := range g.Turns(context.Background(), "t") {
		if err != nil || !turn.Redacted || string(turn.Body) != `{"a":"REDACTED"}` {
			t.Errorf("%+v, %v", turn, err)
		}
	}
	g.Close()
	data, err := os.ReadFile(g.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{secret, `0073k-abc1`} {
		if bytes.Contains(data, []byte(s)) {
			t.Errorf("%s is in the file", s)
		}
	}
}

// What was there before is known by its digest: a repetition is answered, from the
// redacted record, and other bytes are other bytes although they look the same.
func TestRedactedIsStillKnown(t *testing.T) {
	turn := callgate.Turn{Session: "s", Number: 1, Calls: []callgate.Call{{Name: "once", Arguments: json.RawMessage(`{"k":"sk-abc1"}`)}}}
	g := newRig(t, Options{Redact: secrets}, nil)
	if r := g.gate.Dispatch(context.Background(), g.cat, turn)[0]; r.Code != "" {
		t.Fatal(r)
	}
	if r := g.gate.Dispatch(context.Background(), g.cat, turn)[0]; !r.Recorded || g.runs.Load() != 1 {
		t.Errorf("%+v", r)
	}
	turn.Calls[0].Arguments = json.RawMessage(`{"k":"sk-abc2"}`)
	if r := g.gate.Dispatch(context.Background(), g.cat, turn)[0]; r.Code != callgate.Conflict {
		t.Errorf("%+v", r)
	}
	s, err := g.Begin("t", About{})
	if err != nil {
		t.Fatal(err)
	}
	a := Turn{Number: 1, Role: Assistant, Body: []byte("sk-abc1")}
	if err := s.Append(&a); err != nil || !a.Redacted || a.Digest != sha256.Sum256([]byte("sk-abc1")) || string(a.Body) != "sk-abc1" {
		t.Errorf("%+v, %v", a, err)
	}
	if err := s.Append(&Turn{Number: 1, Role: Assistant, Body: []byte("sk-abc1")}); err != nil {
		t.Error(err)
	}
	if err := s.Append(&Turn{Number: 1, Role: Assistant, Body: []byte("sk-abc2")}); !errors.Is(err, ErrOtherTurn) {
		t.Error(err)
	}
}

// A call that redaction has nothing to do with is not marked.
func TestNothingToRedact(t *testing.T) {
	g := newRig(t, Options{Redact: secrets}, nil)
	g.submit(1, 1, "once")
	for rec, err := range g.Calls(context.Background(), "s") {
		if err != nil || rec.Redacted {
			t.Errorf("%+v, %v", rec, err)
		}
	}
}
