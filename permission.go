package callgate

import "context"

// A Verdict is a policy's answer to a call.
type Verdict uint8

const (
	Deny  Verdict = iota // the zero value refuses
	Ask                  // a person decides
	Allow                // it may run
)

// String returns deny, ask or allow.
func (v Verdict) String() string {
	switch v {
	case Ask:
		return "ask"
	case Allow:
		return "allow"
	}
	return "deny"
}

// A Decision is a verdict with its grounds.
type Decision struct {
	Verdict Verdict `json:"-"`
	Rule    string  `json:"rule,omitempty"`   // id of the rule that decided
	Reason  string  `json:"reason,omitempty"` // shown to the model when it refuses, to the person when it asks
	By      string  `json:"by,omitempty"`     // who approved, if a person was asked
}

// A Request is what a policy and an approver judge: a call whose arguments are
// valid, and the tool it would reach. It holds copies, so that what is judged is
// what runs whatever is done to it.
type Request struct {
	Call   Call
	Spec   Spec
	Source string   // of the tool; "" is local
	Access []Access // what the call says it touches
}

// A Policy decides on a valid call at the moment when it could start. It must be
// safe for concurrent use. An error, a panic, or no answer in time is a denial.
type Policy func(ctx context.Context, req Request) (Decision, error)

// An Approver puts a call to a person. It may block, and must heed ctx. The gate
// asks about one call at a time, in the model's order. An error or a panic is a
// refusal. An *[Error] with the code [Unavailable] says that nobody was asked, since
// the call cannot run now whatever is said: the call is answered with it.
type Approver func(ctx context.Context, req Request, why Decision) (Answer, error)

// An Answer is what a person said.
type Answer struct {
	Approved bool
	Message  string // to the model, if not approved
	By       string // who it was, for the record
}

// ReadOnlyTools allows local tools that are annotated read-only and asks about
// every other call. It is the policy of a Dispatcher that has none: a remote
// server's claim to be read-only is not believed.
func ReadOnlyTools(_ context.Context, req Request) (Decision, error) {
	if req.Spec.Annotations.ReadOnlyHint && req.Source == "" {
		return Decision{Verdict: Allow, Rule: "default.read_only"}, nil
	}
	return Decision{Verdict: Ask, Rule: "default.ask", Reason: "the tool may change things and no rule allows it"}, nil
}

// AllowAll allows every valid call. It is for tests and for tools that are
// harmless by construction.
func AllowAll(context.Context, Request) (Decision, error) {
	return Decision{Verdict: Allow, Rule: "allow_all"}, nil
}
