package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/callgate/callgate"
	"github.com/go-json-experiment/json/jsontext"
)

// An Object is one level of a JSON object: its members, raw.
type Object struct {
	where   string
	members []member
}

type member struct {
	name  string
	value json.RawMessage
}

// lax lets through what is not the envelope's business: what stands inside the
// arguments of a call is judged by the gate, as a fault of that call alone.
var lax = jsontext.AllowDuplicateNames(true)
var laxUTF8 = jsontext.AllowInvalidUTF8(true)

// ReadObject reads data as an object of which the given members are known. It
// must not be guessed which member was meant: a known name that stands twice or
// in another case is an error. Other members are kept as they are.
func ReadObject(where string, data []byte, known ...string) (Object, error) {
	o := Object{where: where}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), lax, laxUTF8)
	if k := dec.PeekKind(); k != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return o, unreadable(where, err)
		}
		return o, fmt.Errorf("unreadable turn: %s is %s where an object is expected", where, kindName(k))
	}
	dec.ReadToken()
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return o, unreadable(where, err)
		}
		n := name.String()
		at := dec.InputOffset()
		value, err := dec.ReadValue()
		if err != nil {
			return o, unreadable(where, err)
		}
		for _, k := range known {
			if n != k && strings.EqualFold(n, k) {
				return o, fmt.Errorf("unreadable turn: %s has a member %q at byte %d, which differs from %q only by case", where, n, at, k)
			}
			if n == k && o.has(n) {
				return o, fmt.Errorf("unreadable turn: %s has the member %q twice, again at byte %d", where, n, at)
			}
		}
		o.members = append(o.members, member{n, bytes.Clone(value)})
	}
	if _, err := dec.ReadToken(); err != nil {
		return o, unreadable(where, err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return o, fmt.Errorf("unreadable turn: data after %s at byte %d", where, dec.InputOffset())
	}
	return o, nil
}

// ReadArray reads data as an array.
func ReadArray(where string, data []byte) ([]json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), lax, laxUTF8)
	if k := dec.PeekKind(); k != '[' {
		if _, err := dec.ReadToken(); err != nil {
			return nil, unreadable(where, err)
		}
		return nil, fmt.Errorf("unreadable turn: %s is %s where an array is expected", where, kindName(k))
	}
	dec.ReadToken()
	var items []json.RawMessage
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, unreadable(where, err)
		}
		items = append(items, json.RawMessage(bytes.Clone(v)))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, unreadable(where, err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("unreadable turn: data after %s at byte %d", where, dec.InputOffset())
	}
	return items, nil
}

func unreadable(where string, err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("unreadable turn: %s ends too early: %w", where, err)
	}
	return fmt.Errorf("unreadable turn: %s: %w", where, err)
}

// Kind returns the kind of the first value in data: '{', '[', '"', '0', 't',
// 'f', 'n', or 0 if there is none.
func Kind(data []byte) byte {
	k := jsontext.NewDecoder(bytes.NewBuffer(data)).PeekKind()
	if k == jsontext.KindInvalid {
		return 0
	}
	return byte(k)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

func (o Object) has(name string) bool {
	_, ok := o.Member(name)
	return ok
}

// Member returns the raw value of a member, null or not.
func (o Object) Member(name string) (json.RawMessage, bool) {
	for _, m := range o.members {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// Get returns the raw value of a member; one that is null counts as absent.
func (o Object) Get(name string) (json.RawMessage, bool) {
	v, ok := o.Member(name)
	return v, ok && Kind(v) != 'n'
}

// String returns the text of a member, "" if it is absent or null.
func (o Object) String(name string) (string, error) {
	v, ok := o.Get(name)
	if !ok {
		return "", nil
	}
	if Kind(v) != '"' {
		return "", fmt.Errorf("unreadable turn: %q in %s is not a string", name, o.where)
	}
	return Unquote(v), nil
}

// Int returns the number of a member, 0 if it is absent or no integer.
func (o Object) Int(name string) int64 {
	v, _ := o.Get(name)
	var n int64
	if json.Unmarshal(v, &n) != nil {
		return 0
	}
	return n
}

// Others returns, as an object, the members that are not named, or nil if there
// are none.
func (o Object) Others(named ...string) []byte {
	out := []byte{'{'}
next:
	for _, m := range o.members {
		for _, n := range named {
			if m.name == n {
				continue next
			}
		}
		if Kind(m.value) == 'n' {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, Quote(m.name)...), ':'), m.value...)
	}
	if len(out) == 1 {
		return nil
	}
	return bytes.ToValidUTF8(append(out, '}'), []byte("\uFFFD"))
}

// Unquote returns the text of a JSON string, with U+FFFD for what is no
// character. For arguments see [Text].
func Unquote(raw []byte) string {
	s, _ := jsontext.AppendUnquote(nil, raw)
	return string(s)
}

// Quote returns s as a JSON string, with U+FFFD for what is not UTF-8.
func Quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	return b
}

// Text returns what the arguments of a call are when they come as a JSON string:
// its text, whatever it is. A string that has no exact text (half a surrogate
// pair) stays quoted, so that the gate refuses it for what it is.
func Text(raw json.RawMessage) json.RawMessage {
	s, err := jsontext.AppendUnquote(nil, []byte(raw))
	if err != nil {
		return raw
	}
	return s
}

// CheckResults reports what keeps results from answering the calls of a turn.
func CheckResults(results []callgate.Result) error {
	if len(results) == 0 {
		return errors.New("there are no results to send")
	}
	first := map[string]int{}
	for i, r := range results {
		if strings.TrimSpace(r.CallID) == "" {
			return fmt.Errorf("result %d (of tool %q) has no call id", i, r.Tool)
		}
		if j, again := first[r.CallID]; again {
			return fmt.Errorf("results %d and %d are both for call %q", j, i, r.CallID)
		}
		first[r.CallID] = i
	}
	return nil
}

// Malformed is the member under which arguments that are no object stand in a
// history that is sent back. Providers refuse, or choke on, anything but an
// object there, and the model should see what it wrote.
const Malformed = "_malformed_arguments"

// Replay returns arguments as they may be sent back: as they are if they are one
// valid JSON object, {} if they are blank, else an object that has them as text.
func Replay(args json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}")
	}
	if Kind(args) == '{' && jsontext.Value(args).IsValid() {
		return args
	}
	out := append([]byte(`{"`+Malformed+`":`), Quote(string(args))...)
	return append(out, '}')
}
