package callgate

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// H015: a number beyond 2^53 arrives whole.
func TestFuncBindsExactly(t *testing.T) {
	type args struct {
		ID   int64  `json:"id"`
		Path string `json:"path,omitempty"`
	}
	var got args
	tl := Must(Func(Spec{Name: "t"}, func(_ context.Context, in args) (string, error) { got = in; return "ok", nil }))
	for _, tt := range []struct {
		args string
		code Code
		want args
	}{
		{`{"id":9007199254740993,"path":"a"}`, "", args{9007199254740993, "a"}},
		{`{"id":9223372036854775807}`, "", args{9223372036854775807, ""}}, // and nothing is left of the call before
		{`{"id":9223372036854775808}`, InvalidArguments, args{}},
		{`{"id":1.5}`, InvalidArguments, args{}},
		{`{"ID":1}`, MalformedArguments, args{}},
		{`{"id":1,"Path":"b"}`, MalformedArguments, args{}},
	} {
		got = args{}
		res := one(t, new(Dispatcher), tl, tt.args)
		if res.Code != tt.code || got != tt.want {
			t.Errorf("%s: %s, bound to %+v", tt.args, res, got)
		}
		if tt.code != "" && res.State != NotStarted {
			t.Errorf("%s: state %s", tt.args, res.State)
		}
	}
}

// Arguments that the schema admits and the type cannot hold are invalid
// arguments, with their place; the function is not entered.
func TestFuncUnbindable(t *testing.T) {
	type args struct {
		N int8 `json:"n"`
	}
	_, err := Func(Spec{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"string"}}}`)},
		func(context.Context, args) (string, error) { return "", nil })
	if err == nil || !strings.Contains(err.Error(), "n") {
		t.Errorf("a schema that the type cannot bind: %v", err)
	}
	entered := false
	tl := Must(Func(Spec{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		func(context.Context, struct {
			N int64 `json:"n"`
		}) (string, error) {
			entered = true
			return "", nil
		}))
	got := one(t, new(Dispatcher), tl, `{"n":99999999999999999999}`)
	if got.Code != InvalidArguments || entered || len(got.Violations) != 1 || got.Violations[0].Path != "/n" {
		t.Errorf("entered %v, %+v", entered, got)
	}
}

func TestFuncOutputs(t *testing.T) {
	type out struct {
		N    int64    `json:"n"`
		Tags []string `json:"tags"`
	}
	typed := Must(Func(Spec{Name: "t"}, func(context.Context, struct{}) (out, error) {
		return out{9007199254740993, nil}, nil
	}))
	if len(typed.OutputSchema) == 0 {
		t.Error("no output schema was inferred")
	}
	if got := one(t, new(Dispatcher), typed, ""); string(got.Structured) != `{"n":9007199254740993,"tags":[]}` || got.ContentText() != string(got.Structured) {
		t.Errorf("typed: %s, %s", got.Structured, got)
	}
	result := Must(Func(Spec{Name: "t"}, func(context.Context, struct{}) (Result, error) {
		return Result{Notes: []string{"note"}, Content: []Content{{Text: "partial"}}}, errors.New("failed")
	}))
	if got := one(t, new(Dispatcher), result, ""); !strings.HasSuffix(got.ModelText(), "failed\nnote\n<output-"+got.Fence+">\npartial\n</output-"+got.Fence+">") {
		t.Errorf("a result beside an error: %q", got)
	}
	list := Must(Func(Spec{Name: "t"}, func(context.Context, struct{}) ([]int, error) { return []int{1, 2}, nil }))
	if got := one(t, new(Dispatcher), list, ""); got.ContentText() != "[1,2]" || got.Code != "" {
		t.Errorf("a list: %s", got)
	}
}

// H007, H008, H010, H020: repair is off unless the spec asks for it, and then it
// is made where the schema rejects, on the bytes that everybody sees.
func TestRepairOnTheRoad(t *testing.T) {
	tl := echo("t")
	tl.InputSchema = json.RawMessage(`{"type":"object","properties":{"ids":{"type":"array","items":{"type":"integer"}},"q":{"type":"string"}},"required":["ids"]}`)
	const slip = `{"ids":"[1,2]","q":"[x]"}`
	if got := one(t, new(Dispatcher), tl, slip); got.Code != InvalidArguments || got.Violations[0].Path != "/ids" {
		t.Errorf("without repair: %s", got)
	}
	tl.Repair = []string{"json_string"}
	var judged string
	d := Dispatcher{Policy: func(_ context.Context, req Request) (Decision, error) {
		judged = string(req.Call.Arguments)
		return Decision{Verdict: Allow}, nil
	}}
	got := one(t, &d, tl, slip)
	const want = `{"ids":[1,2],"q":"[x]"}`
	if got.ContentText() != want || judged != want || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "/ids") {
		t.Errorf("repaired: %q, judged %s", got, judged)
	}
	if got := one(t, new(Dispatcher), tl, `{"ids":"[1,2"}`); got.Code != InvalidArguments {
		t.Errorf("cut-off JSON was completed: %s", got)
	}
}

// No allocation beyond what DESIGN allows for a no-op call.
func TestDispatchAllocations(t *testing.T) {
	noop := Must(Func(Spec{Name: "noop", Annotations: Annotations{ReadOnlyHint: true, OpenWorldHint: new(false)}},
		func(context.Context, struct {
			Path string `json:"path"`
		}) (string, error) {
			return "ok", nil
		}))
	r := registry(t, noop)
	cat := r.Catalog()
	var d Dispatcher
	turn := Calls(Call{ID: "1", Name: "noop", Arguments: json.RawMessage(`{"path":"internal/cli/dispatch_command.go"}`)})
	if n := testing.AllocsPerRun(2000, func() { d.Dispatch(context.Background(), cat, turn) }); n > 12+raceAllocs {
		t.Errorf("a no-op call takes %v allocations, want at most 12", n)
	}
}

// A value beside an error is nothing to show, unless it is a Result.
func TestFuncValueBesideAnError(t *testing.T) {
	tl := Must(Func(Spec{Name: "t"}, func(context.Context, struct{}) (string, error) { return "half", errors.New("failed") }))
	if got := one(t, new(Dispatcher), tl, ""); got.ContentText() != "" || got.Message != "failed" {
		t.Errorf("got %+v", got)
	}
}
