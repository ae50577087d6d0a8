package callgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate"
)

// never is an executor and an approver that must not be asked.
type never struct{ t *testing.T }

func (n never) Recall(context.Context, *callgate.Execution) (callgate.Outcome, bool) {
	n.t.Error("the executor was asked")
	return callgate.Outcome{}, false
}

func (n never) Execute(context.Context, *callgate.Execution) callgate.Outcome {
	n.t.Error("the executor was asked")
	return callgate.Outcome{}
}

func (n never) approve(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
	n.t.Error("the approver was asked")
	return callgate.Answer{}, nil
}

// Judge answers as Dispatch does, up to the moment when somebody would be asked or
// something would run.
func TestJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r callgate.Registry
		err := r.Register(callgate.Tool{
			Spec: callgate.Spec{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"do":{"type":"string"},"n":{"type":"integer"}}}`), Repair: []string{"number_string"}},
			Handler: func(context.Context, callgate.Call) (callgate.Result, error) {
				t.Error("the handler was entered")
				return callgate.Result{}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		gate := callgate.Dispatcher{Executor: never{t}, Approver: never{t}.approve, Policy: func(ctx context.Context, req callgate.Request) (callgate.Decision, error) {
			var in struct{ Do string }
			if err := json.Unmarshal(req.Call.Arguments, &in); err != nil {
				t.Error(err)
			}
			switch in.Do {
			case "allow":
				if want := (callgate.Identity{Session: "s", Turn: 3, Index: 0}); req.Call.Identity != want {
					t.Errorf("the policy is asked about %v", req.Call.Identity)
				}
				return callgate.Decision{Verdict: callgate.Allow, Rule: "r1"}, nil
			case "ask":
				return callgate.Decision{Verdict: callgate.Ask, Rule: "r2"}, nil
			case "err":
				return callgate.Decision{Verdict: callgate.Allow}, errors.New("no rules")
			case "panic":
				panic("no rules")
			case "late":
				<-ctx.Done()
				time.Sleep(time.Hour)
				return callgate.Decision{Verdict: callgate.Allow}, nil
			}
			return callgate.Decision{Rule: "r3"}, nil
		}}
		table := []struct {
			name, args string
			verdict    callgate.Verdict
			rule       string
			code       callgate.Code
		}{
			{"t", `{"do":"allow"}`, callgate.Allow, "r1", ""},
			{"t", `{"do":"ask"}`, callgate.Ask, "r2", ""},
			{"t", `{"do":"ask","n":"3"}`, callgate.Ask, "r2", ""}, // repaired
			{"t", `{}`, callgate.Deny, "r3", callgate.PermissionDenied},
			{"t", `{"do":"err"}`, callgate.Deny, "policy.error", callgate.PermissionDenied},
			{"t", `{"do":"panic"}`, callgate.Deny, "policy.error", callgate.PermissionDenied},
			{"t", `{"do":"late"}`, callgate.Deny, "policy.timeout", callgate.PermissionDenied},
			{"t", `{"do":7}`, callgate.Deny, "", callgate.InvalidArguments},
			{"t", `{"do"`, callgate.Deny, "", callgate.MalformedArguments},
			{"u", `{}`, callgate.Deny, "", callgate.UnknownTool},
		}
		turn := callgate.Turn{Session: "s", Number: 3}
		for _, c := range table {
			turn.Calls = append(turn.Calls, callgate.Call{Name: c.name, Arguments: json.RawMessage(c.args)})
		}
		for i, j := range gate.Judge(t.Context(), r.Catalog(), turn) {
			c := table[i]
			code := callgate.Code("")
			if j.Refusal != nil {
				code = j.Refusal.Code
			}
			if j.Decision.Verdict != c.verdict || j.Decision.Rule != c.rule || code != c.code {
				t.Errorf("%s %s: %v by %q, refused as %q; want %v by %q, %q", c.name, c.args, j.Decision.Verdict, j.Decision.Rule, code, c.verdict, c.rule, c.code)
			}
		}
		time.Sleep(2 * time.Hour) // the late policy ends with the test
		if judged := gate.Judge(t.Context(), nil, turn); judged[0].Refusal == nil || judged[0].Refusal.Code != callgate.UnknownTool {
			t.Errorf("without a catalog: %v", judged[0].Refusal)
		}
	})
}

// Without a policy the default one judges.
func TestJudgeByDefault(t *testing.T) {
	var r callgate.Registry
	handler := func(context.Context, callgate.Call) (callgate.Result, error) { return callgate.Result{}, nil }
	if err := r.Register(
		callgate.Tool{Spec: callgate.Spec{Name: "read", Annotations: callgate.Annotations{ReadOnlyHint: true}}, Handler: handler},
		callgate.Tool{Spec: callgate.Spec{Name: "write"}, Handler: handler},
	); err != nil {
		t.Fatal(err)
	}
	var gate callgate.Dispatcher
	judged := gate.Judge(t.Context(), r.Catalog(), callgate.Calls(callgate.Call{Name: "read"}, callgate.Call{Name: "write"}))
	if judged[0].Decision.Verdict != callgate.Allow || judged[1].Decision.Verdict != callgate.Ask {
		t.Errorf("%v and %v; want allow and ask", judged[0].Decision, judged[1].Decision)
	}
}
