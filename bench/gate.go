package bench

import (
	"context"
	"encoding/json"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/schema"
)

func gateEngines() []Engine {
	return []Engine{
		{"callgate", "schema", compileGate((*schema.Schema).Validate), schema.Bind},
		{"callgate/explain", "schema", compileGate((*schema.Schema).Explain), nil},
	}
}

// compileGate times what the dispatcher calls, or the slow tier alone: what a
// schema that the fast one cannot take costs.
func compileGate(verdict func(*schema.Schema, []byte) (schema.Violations, error)) func(Shape) (func([]byte) error, error) {
	return func(s Shape) (func([]byte) error, error) {
		compiled, err := schema.Compile([]byte(s.Schema))
		if err != nil {
			return nil, err
		}
		return func(args []byte) error {
			violations, err := verdict(compiled, args)
			if err == nil && len(violations) > 0 {
				err = violationsError(violations)
			}
			return err
		}, nil
	}
}

// violationsError is words only for who reads them, as with the peers.
type violationsError schema.Violations

func (v violationsError) Error() string { return schema.Violations(v).String() }

func gatePeers() []Peer {
	return []Peer{{Name: "callgate", Checks: "schema", Path: "Func, Dispatcher.Dispatch with the default policy", Turns: true, Open: openGate}}
}

func openGate(tools ...Tool) (*Session, error) {
	var r callgate.Registry
	for _, t := range tools {
		// Read-only is what the zero Dispatcher allows. It also lets the calls
		// of a batch run at once, as the peers' do.
		tool, err := callgate.Func(callgate.Spec{
			Name: t.Name, Description: "Run a command.", InputSchema: json.RawMessage(t.Schema),
			Annotations: callgate.Annotations{ReadOnlyHint: true},
		}, t.Run)
		if err != nil {
			return nil, err
		}
		if err := r.Register(tool); err != nil {
			return nil, err
		}
	}
	cat := r.Catalog()
	d := new(callgate.Dispatcher)
	turn := func(calls []Call) callgate.Turn {
		var t callgate.Turn
		for _, c := range calls {
			t.Calls = append(t.Calls, callgate.Call{ID: "call_1", Name: c.Name, Arguments: json.RawMessage(c.Args)})
			t.Cut = t.Cut || c.Cut
		}
		return t
	}
	return &Session{
		Prepare: func(c Call) func(context.Context) Answer {
			t := turn([]Call{c})
			return func(ctx context.Context) Answer { return gateAnswer(d.Dispatch(ctx, cat, t)[0]) }
		},
		PrepareBatch: func(calls []Call) func(context.Context) []Answer {
			t := turn(calls)
			return func(ctx context.Context) []Answer {
				results := d.Dispatch(ctx, cat, t)
				answers := make([]Answer, len(results))
				for i, r := range results {
					answers[i] = gateAnswer(r)
				}
				return answers
			}
		},
		Close: func() {},
	}, nil
}

func gateAnswer(r callgate.Result) Answer {
	if r.IsError() {
		return Answer{Text: r.ModelText(), Failed: true}
	}
	return Answer{Text: r.ContentText()}
}
