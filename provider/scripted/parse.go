package scripted

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/callgate/callgate/llm"
	"github.com/go-json-experiment/json"
)

// Parse reads a script. It is text, with one instruction a line:
//
//	# comment; blank lines mean nothing
//	turn                                  starts a step
//	expect invalid_arguments              what the model must have been sent …
//	reject panic                          … and must not
//	find id artifact:[a-z0-9]+            remembers what it was sent, for {{id}}
//	say I will read both files.           what the model says; may be repeated
//	call read_file {"path": "a.txt"}      what it proposes, in order
//	call id=c7 read_file {"path":         with an id of its own; arguments are the
//	  | "b.txt"}                          rest of the line as it is, and go on after "|"
//	cut                                   the answer ends at the output limit
//	fail the service is overloaded        the model fails instead of answering
//
// or, if it begins with "[", the JSON form of a list of [Step].
func Parse(script []byte) ([]Step, error) {
	if t := bytes.TrimSpace(script); len(t) > 0 && t[0] == '[' {
		var steps []Step
		if err := json.Unmarshal(t, &steps, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("scripted: %w", err)
		}
		return steps, nil
	}
	var steps []Step
	more := false // the line before was a call, so that "|" may follow
	for i, line := range strings.Split(string(script), "\n") {
		line = strings.TrimLeft(strings.TrimRight(line, "\r"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "turn" && strings.TrimSpace(rest) == "" {
			steps, more = append(steps, Step{Line: i + 1}), false
			continue
		}
		if len(steps) == 0 {
			return nil, fmt.Errorf("scripted: line %d: %q stands before the first turn", i+1, word)
		}
		s := &steps[len(steps)-1]
		if err := s.instruction(word, rest, more); err != nil {
			return nil, fmt.Errorf("scripted: line %d: %w", i+1, err)
		}
		more = word == "call" || word == "|"
	}
	return steps, nil
}

func (s *Step) instruction(word, rest string, more bool) error {
	needsText := func() error {
		if strings.TrimSpace(rest) == "" {
			return fmt.Errorf("%s needs a text", word)
		}
		return nil
	}
	switch word {
	case "expect":
		s.Expect = append(s.Expect, rest)
		return needsText()
	case "reject":
		s.Reject = append(s.Reject, rest)
		return needsText()
	case "find":
		name, pattern, ok := strings.Cut(rest, " ")
		if _, err := regexp.Compile(pattern); err != nil || !ok || name == "" {
			return fmt.Errorf("find needs a name and a regular expression (%v)", err)
		}
		if s.Find == nil {
			s.Find = map[string]string{}
		}
		s.Find[name] = pattern
	case "say":
		if s.Say != "" {
			s.Say += "\n"
		}
		s.Say += rest
	case "fail":
		s.Fail = rest
		return needsText()
	case "cut":
		s.Stop = llm.MaxTokens
	case "call":
		var c Call
		if id, after, ok := strings.Cut(rest, " "); ok && strings.HasPrefix(id, "id=") {
			c.ID, rest = strings.TrimPrefix(id, "id="), after
		}
		c.Name, c.Arguments, _ = strings.Cut(rest, " ")
		s.Calls = append(s.Calls, c)
		return needsText()
	case "|":
		if !more {
			return fmt.Errorf("%q goes on with the arguments of a call, and there is none before it", word)
		}
		s.Calls[len(s.Calls)-1].Arguments += "\n" + rest
	default:
		return fmt.Errorf("there is no instruction %q; use turn, expect, reject, find, say, call, cut or fail", word)
	}
	return nil
}

// callJSON is the JSON form of a Call. Arguments are any JSON value, or a string
// that is sent as it stands.
type callJSON struct {
	ID        string             `json:"id,omitempty"`
	Name      string             `json:"name"`
	Arguments stdjson.RawMessage `json:"arguments,omitempty"`
}

// MarshalJSON writes arguments as JSON if they are, else as a string.
func (c Call) MarshalJSON() ([]byte, error) {
	j := callJSON{ID: c.ID, Name: c.Name, Arguments: stdjson.RawMessage(c.Arguments)}
	if c.Arguments != "" && (!stdjson.Valid(j.Arguments) || strings.HasPrefix(strings.TrimSpace(c.Arguments), `"`)) {
		j.Arguments, _ = stdjson.Marshal(c.Arguments)
	}
	return stdjson.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Call) UnmarshalJSON(data []byte) error {
	var j callJSON
	if err := json.Unmarshal(data, &j, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*c = Call{ID: j.ID, Name: j.Name, Arguments: string(j.Arguments)}
	if strings.HasPrefix(c.Arguments, `"`) {
		return stdjson.Unmarshal(j.Arguments, &c.Arguments)
	}
	return nil
}
