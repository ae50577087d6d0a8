package callgate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/schema"
)

// A Plan says what is to be done about the calls of a turn before anything is
// done: a pure function of the catalog and the turn, so that a dispatcher, a
// replay and an engine on other machines all follow the same one. Step i is
// about call i.
type Plan []Step

// A Step answers for one call.
type Step struct {
	Call     Call     // with its identity, and with the bytes that will run
	Tool     *Tool    // nil if no tool of that name exists; not to be modified
	Refusal  *Error   // why the call will not run, or nil
	After    []int    // the earlier calls that it must not overtake
	Access   []Access // what the call touches; keys are lexical, links not followed
	Repaired []string // what was repaired in the arguments, for the model

	entry *entry
}

// Plan looks up and validates the calls of a turn, and orders those that touch
// the same things. A refused call touches nothing: it waits for nobody and
// nobody waits for it. The bytes of the arguments are copied. Calls beyond the
// 512th of a turn are refused with [BudgetExceeded].
func (c *Catalog) Plan(turn Turn) Plan {
	plan := make(Plan, len(turn.Calls))
	c.plan(turn, plan)
	return plan
}

// plan fills in plan, which has a step for each call.
func (c *Catalog) plan(turn Turn, plan Plan) {
	if c == nil {
		c = new(Catalog)
	}
	for i, call := range turn.Calls {
		call.Identity = Identity{turn.Session, turn.Number, i}
		if i >= maxCalls {
			plan[i] = Step{Call: call, Refusal: &Error{Code: BudgetExceeded, NotStarted: true, Message: fmt.Sprintf("at most %d calls of one turn are looked at, and this was not one of them; propose it again in the next turn", maxCalls)}}
			continue
		}
		plan[i] = c.step(call)
		if turn.Cut || turn.Filtered {
			plan[i].Refusal = turn.notWhole()
		}
		if plan[i].Refusal != nil {
			continue
		}
		plan[i].Access = accessOf(plan[i].Tool, plan[i].Call.Arguments)
		for j := range i {
			if plan[j].Refusal == nil && conflict(plan[i].Access, plan[j].Access) {
				plan[i].After = append(plan[i].After, j)
			}
		}
	}
}

// maxCalls bounds a turn: to order calls is to compare each with each. Models
// have been seen to propose some dozens at once.
const maxCalls = 512

// notWhole is why no call of a turn that the provider ended early runs.
func (t Turn) notWhole() *Error {
	msg := "the turn was cut off at the provider's output limit, so none of its calls ran; send the call again, with less in one turn"
	if !t.Cut {
		msg = "the provider's safety rules stopped the turn before it was complete, so none of its calls ran"
	}
	return &Error{Code: MalformedArguments, NotStarted: true, Message: msg}
}

func (c *Catalog) step(call Call) Step {
	e, ok := c.tools[call.Name]
	if !ok {
		return Step{Call: call, Refusal: c.unknown(call.Name)}
	}
	s := Step{Call: call, Tool: &e.Tool, entry: e}
	s.Call.Arguments = slices.Clone(orEmpty(call.Arguments))
	violations, err := e.validate(s.Call.Arguments)
	if err == nil && len(violations) > 0 && len(e.Repair) > 0 {
		if repaired, notes, ok := e.input.Repair(s.Call.Arguments, e.Repair); ok {
			s.Call.Arguments, violations = repaired, nil
			for _, n := range notes {
				s.Repaired = append(s.Repaired, "Note: the argument at "+or(n.Path, "the root")+" was repaired: "+n.Message+".")
			}
		}
	}
	switch {
	case err != nil:
		s.Refusal = malformed(err)
	case len(violations) > 0:
		s.Refusal = &Error{Code: InvalidArguments, Message: violations.String(), Violations: violations, NotStarted: true}
	}
	return s
}

// validate checks arguments against the input schema, and that they are an object
// whatever the schema says.
func (e *entry) validate(args []byte) (schema.Violations, error) {
	violations, err := e.input.Validate(args)
	if err == nil && len(violations) == 0 && !isObject(args) {
		violations = schema.Violations{notObject}
	}
	return violations, err
}

// notObject is the violation of arguments that are no object and that the schema
// admits: {}, true and {"type":["object","null"]} do, and models are shown an
// object all the same.
var notObject = schema.Violation{Keyword: "type", Message: "expected object", Expected: "object"}

// isObject reports whether valid JSON is an object.
func isObject(args []byte) bool {
	args = bytes.TrimLeft(args, " \t\r\n")
	return len(args) > 0 && args[0] == '{'
}

var emptyObject = json.RawMessage("{}")

// orEmpty returns {} for arguments that are absent or blank: a model that has
// nothing to say about a tool without parameters. Nothing else becomes {}.
func orEmpty(args json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(args)) == 0 {
		return emptyObject
	}
	return args
}

func malformed(err error) *Error {
	e := &Error{Code: MalformedArguments, Message: err.Error() + "; send the arguments as one JSON object", NotStarted: true}
	if s, ok := errors.AsType[*schema.SyntaxError](err); ok {
		e.Cause = s
	}
	return e
}

// Everything and nothing in particular: the access of a tool that declares none.
var (
	readsAll  = []Access{{}}
	writesAll = []Access{{Write: true}}
)

// accessOf never fails: a tool whose Access panics is taken to write everything.
func accessOf(t *Tool, args json.RawMessage) (access []Access) {
	if t.Access == nil {
		if t.Annotations.ReadOnlyHint {
			return readsAll
		}
		return writesAll
	}
	defer func() {
		if recover() != nil {
			access = writesAll
		}
	}()
	return t.Access(slices.Clone(args))
}

// conflict reports whether two calls must keep their order: they touch the same
// thing, and at least one of them writes it.
func conflict(a, b []Access) bool {
	for _, x := range a {
		for _, y := range b {
			if (x.Write || y.Write) && overlap(x.Key, y.Key) {
				return true
			}
		}
	}
	return false
}

func overlap(a, b string) bool { return covers(a, b) || covers(b, a) }

// covers reports whether key is dir or lies below it. The end of a component is
// a slash, or the colon after the scheme.
func covers(dir, key string) bool {
	rest, ok := strings.CutPrefix(key, dir)
	return ok && (dir == "" || rest == "" || rest[0] == '/' || dir[len(dir)-1] == ':' || dir[len(dir)-1] == '/')
}

// quote renders untrusted text for a message: quoted, escaped and clipped.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		return fmt.Sprintf("%s… (%d bytes)", strconv.QuoteToGraphic(s[:cut]), len(s))
	}
	return strconv.QuoteToGraphic(s)
}
