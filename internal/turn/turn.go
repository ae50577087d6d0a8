// Package turn reads an assistant's turn in the formats of providers, without
// guessing, and writes what is sent back for it.
package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/anthropic"
	"github.com/callgate/callgate/provider/openai"
)

// A Codec reads an assistant's turn and writes what is sent back for it.
type Codec interface {
	Decode(turn []byte) (llm.Response, error)
	Results(results []callgate.Result) (json.RawMessage, error)
}

// A Kind is a format.
type Kind struct {
	Name    string
	Make    func(*callgate.Catalog) Codec
	Nothing string // what answers a turn without calls
}

var kinds = []Kind{
	{"anthropic", func(c *callgate.Catalog) Codec { return anthropic.Encode(c) }, `null`},
	{"openai", func(c *callgate.Catalog) Codec { return openai.Encode(c) }, `[]`},
	{"callgate", func(*callgate.Catalog) Codec { return native{} }, `{"results":[]}`},
}

// Find returns the format with the given name, or nil.
func Find(name string) *Kind {
	for i := range kinds {
		if kinds[i].Name == name {
			return &kinds[i]
		}
	}
	return nil
}

// Names returns the names of all formats.
func Names() []string {
	var names []string
	for _, f := range kinds {
		names = append(names, f.Name)
	}
	return names
}

// An Unreadable turn is one that cannot be read without guessing.
type Unreadable struct{ Reason string }

func (u *Unreadable) Error() string { return "unreadable turn: " + u.Reason }

// maxPlace is how much of a JSON Pointer a message shows, in bytes.
const maxPlace = 200

// Scan checks that turn is one JSON value and nothing after it, and says where
// it is not. What stands inside it twice, or is not UTF-8, is left to who knows
// whether it matters: within the arguments of a call it is a fault of that call.
func Scan(turn []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(turn), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := dec.SkipValue()
	if err == nil {
		end := dec.InputOffset()
		if _, err = dec.ReadToken(); err == io.EOF {
			return nil
		}
		after := end + int64(len(turn[end:])-len(bytes.TrimLeft(turn[end:], " \t\r\n")))
		return unreadableAt(turn, after, "there is more after the turn; give one turn, or use --stream for one a line")
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		reason := strings.TrimPrefix(s.Err.Error(), "jsontext: ")
		if at := string(s.JSONPointer); len(at) > maxPlace { // as deep as the input, which is somebody's attack
			reason += " within " + strings.ToValidUTF8(at[:maxPlace], "") + "…"
		} else if at != "" {
			reason += " within " + at
		}
		return unreadableAt(turn, s.ByteOffset, "it is not JSON: "+reason)
	}
	if len(bytes.TrimSpace(turn)) == 0 {
		return &Unreadable{"the input is empty"}
	}
	return unreadableAt(turn, int64(len(turn)), "it is not JSON: it ends too early")
}

// unreadableAt adds to reason the place of offset as people and as editors count.
func unreadableAt(turn []byte, offset int64, reason string) error {
	before := turn[:min(max(offset, 0), int64(len(turn)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	return &Unreadable{fmt.Sprintf("%s (line %d, column %d, byte %d)", reason, line, column, offset)}
}

// Choose returns the format of turn, which is JSON: the one that its marks tell,
// if asked is auto, else asked, unless all marks are another's. (Read as OpenAI's,
// a message of Anthropic's has no calls: they would be lost without a word.)
func Choose(asked string, turn []byte) (*Kind, error) {
	marks, text := marksOf(turn)
	if asked != "auto" {
		if len(marks) > 0 && !slices.Contains(marks, asked) {
			return nil, &Unreadable{fmt.Sprintf("it has the marks of %s, and --format says %s", marks[0], asked)}
		}
		return Find(asked), nil
	}
	if len(marks) == 0 && text {
		marks = []string{"anthropic"} // without calls, so no harm can come of it
	}
	slices.Sort(marks)
	switch {
	case len(marks) == 0:
		return nil, &Unreadable{"its format cannot be told; say it with --format " + strings.Join(Names(), ", ")}
	case marks[0] != marks[len(marks)-1]:
		return nil, &Unreadable{fmt.Sprintf("it has marks of %s and of %s; say which it is with --format", marks[0], marks[len(marks)-1])}
	}
	return Find(marks[0]), nil
}

// marksOf returns the kinds of which turn has a mark, and whether it has parts
// of text, which both providers write alike.
func marksOf(turn []byte) (marks []string, text bool) {
	if jsontext.Value(turn).Kind() == '[' {
		return marksOfItems(turn)
	}
	Members(turn, func(name string, value jsontext.Value) {
		switch name {
		case "calls":
			marks = append(marks, "callgate")
		case "choices", "tool_calls", "function_call", "finish_reason", "refusal":
			marks = append(marks, "openai")
		case "stop_reason":
			marks = append(marks, "anthropic")
		case "content":
			var more []string
			more, text = marksOfItems(value)
			marks = append(marks, more...)
		}
	})
	return marks, text
}

// marksOfItems looks at a list: of blocks (anthropic), of tool calls (openai) or
// of parts of text.
func marksOfItems(list []byte) (marks []string, text bool) {
	items(list, func(item jsontext.Value) {
		kind, function := "", false
		Members(item, func(name string, value jsontext.Value) {
			switch name {
			case "function":
				function = true
			case "type":
				kind = string(value)
			}
		})
		switch {
		case function || kind == `"function"` || kind == `"refusal"`:
			marks = append(marks, "openai")
		case kind == `"text"`:
			text = true
		case kind != "":
			marks = append(marks, "anthropic")
		}
	})
	return marks, text
}

// Members calls yield for each member of a JSON object; for other values never.
func Members(object []byte, yield func(name string, value jsontext.Value)) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return
	}
	dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return
		}
		n := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		yield(n, value)
	}
}

// items calls yield for each element of a JSON array; for other values never.
func items(array []byte, yield func(jsontext.Value)) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(array), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '[' {
		return
	}
	dec.ReadToken()
	for k := dec.PeekKind(); k != ']' && k != jsontext.KindInvalid; k = dec.PeekKind() {
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		yield(value)
	}
}

// native is the format of programs that have no provider's:
// {"calls":[{"id","name","arguments"}]}, answered by {"results":[…]} with every
// field of [callgate.Result]. Arguments are an object, or a string that holds its
// text as some providers send it. "cut": true says that the provider ended the
// turn at its output limit: then no call runs.
type native struct{}

func (native) Decode(turn []byte) (r llm.Response, err error) {
	r.Message.Role = llm.Assistant
	top, err := strictObject("the turn", turn, "calls", "cut")
	if err != nil {
		return r, err
	}
	switch string(top["cut"]) {
	case "", "false":
	case "true":
		r.Cut = true
	default:
		return r, &Unreadable{`"cut" of the turn is neither true nor false`}
	}
	list, ok := top["calls"]
	if !ok || list.Kind() != '[' {
		return r, &Unreadable{`the turn has no list "calls"`}
	}
	n := 0
	items(list, func(item jsontext.Value) {
		if err != nil {
			return
		}
		var c callgate.Call
		c, err = nativeCall(fmt.Sprintf("call %d", n), item)
		r.Message.Blocks = append(r.Message.Blocks, llm.Block{Type: llm.CallBlock, Call: &c})
		n++
	})
	r.Message = r.Message.WithIDs()
	return r, err
}

func nativeCall(where string, raw jsontext.Value) (c callgate.Call, err error) {
	o, err := strictObject(where, raw, "id", "name", "arguments")
	if err != nil {
		return c, err
	}
	for name, to := range map[string]*string{"id": &c.ID, "name": &c.Name} {
		v, ok := o[name]
		switch {
		case !ok || v.Kind() == 'n':
		case v.Kind() != '"':
			return c, &Unreadable{fmt.Sprintf("%q of %s is not a string", name, where)}
		default:
			text, _ := jsontext.AppendUnquote(nil, v) // what is no character becomes U+FFFD
			*to = string(text)
		}
	}
	args := o["arguments"]
	c.Arguments = json.RawMessage(args)
	if args.Kind() == '"' {
		// A string without an exact text stays as it is: the gate refuses it.
		if text, err := jsontext.AppendUnquote(nil, args); err == nil {
			c.Arguments = text
		}
	}
	return c, nil
}

// strictObject reads one level of an object that has no members but the known
// ones, each at most once: if a program in front of the gate reads "name" and the
// gate "Name", they decide about different calls.
func strictObject(where string, data []byte, known ...string) (map[string]jsontext.Value, error) {
	if jsontext.Value(data).Kind() != '{' {
		return nil, &Unreadable{where + " is not an object"}
	}
	o := map[string]jsontext.Value{}
	var err error
	Members(data, func(name string, value jsontext.Value) {
		switch _, again := o[name]; {
		case err != nil:
		case again:
			err = &Unreadable{fmt.Sprintf("%s has the member %q twice", where, name)}
		case !slices.Contains(known, name):
			err = &Unreadable{fmt.Sprintf("%s has a member %q; it takes %s", where, name, strings.Join(known, ", "))}
		default:
			o[name] = value.Clone()
		}
	})
	return o, err
}

func (native) Results(results []callgate.Result) (json.RawMessage, error) {
	return json.Marshal(struct {
		Results []callgate.Result `json:"results"`
	}{results})
}
