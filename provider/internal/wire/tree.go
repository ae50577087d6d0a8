package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A value is JSON that can be edited without touching what is not edited: order
// of members, spelling of numbers and strings.
type value struct {
	kind    byte // '{', '[' or 0 for the rest
	raw     []byte
	members []field
	items   []*value
}

type field struct {
	name string
	*value
}

// parse reads data, which is valid JSON.
func parse(data []byte) (*value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), lax, laxUTF8)
	return parseNext(dec)
}

func parseNext(dec *jsontext.Decoder) (*value, error) {
	switch k := dec.PeekKind(); k {
	case '{', '[':
		v := &value{kind: byte(k)}
		dec.ReadToken()
		for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
			var name string
			if k == '{' {
				t, err := dec.ReadToken()
				if err != nil {
					return nil, err
				}
				name = t.String()
			}
			child, err := parseNext(dec)
			if err != nil {
				return nil, err
			}
			if k == '{' {
				v.members = append(v.members, field{name, child})
			} else {
				v.items = append(v.items, child)
			}
		}
		_, err := dec.ReadToken()
		return v, err
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	return &value{raw: bytes.Clone(raw)}, nil
}

func leaf(v any) *value {
	raw, _ := json.Marshal(v)
	return &value{raw: raw}
}

func object() *value { return &value{kind: '{'} }

func (v *value) appendTo(out []byte) []byte {
	switch v.kind {
	case '{':
		out = append(out, '{')
		for i, m := range v.members {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, Quote(m.name)...), ':')
			out = m.value.appendTo(out)
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for i, e := range v.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = e.appendTo(out)
		}
		return append(out, ']')
	}
	return append(out, v.raw...)
}

// get returns the member with the given name, or nil. It is nil too on a nil
// value and on one that is no object.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (v *value) set(name string, to *value) {
	for i := range v.members {
		if v.members[i].name == name {
			v.members[i].value = to
			return
		}
	}
	v.members = append(v.members, field{name, to})
}

func (v *value) remove(name string) bool {
	n := len(v.members)
	v.members = slices.DeleteFunc(v.members, func(m field) bool { return m.name == name })
	return len(v.members) < n
}

// text returns the string that v is.
func (v *value) text() (string, bool) {
	if v == nil || len(v.raw) == 0 || v.raw[0] != '"' {
		return "", false
	}
	return Unquote(v.raw), true
}

func (v *value) strings() []string {
	if v == nil {
		return nil
	}
	var out []string
	for _, e := range v.items {
		if s, ok := e.text(); ok {
			out = append(out, s)
		}
	}
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
