package schema

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ownSchema is what the type's JSONSchema method says, checked.
func ownSchema(t reflect.Type) (o *inferObject, ok bool, err error) {
	type describer interface{ JSONSchema() []byte }
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer || !reflect.PointerTo(t).Implements(reflect.TypeFor[describer]()) {
		return nil, false, nil
	}
	defer func() {
		if r := recover(); r != nil {
			o, ok, err = nil, false, fmt.Errorf("JSONSchema of %v panicked: %v", t, r)
		}
	}()
	raw := jsontext.Value(reflect.New(t).Interface().(describer).JSONSchema())
	if !raw.IsValid() || raw.Kind() != '{' {
		return nil, false, fmt.Errorf("JSONSchema of %v is not a JSON object", t)
	}
	if err := raw.Compact(); err != nil {
		return nil, false, fmt.Errorf("JSONSchema of %v: %w", t, err)
	}
	o = new(inferObject)
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	dec.ReadToken()
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false, err
		}
		key := name.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false, err
		}
		o.raw(key, bytes.Clone(v))
	}
	return o, true, nil
}

// rootedWord returns a member name in raw whose meaning depends on the document around it.
func rootedWord(raw jsontext.Value) string {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' && n%2 == 1 {
			switch s := tok.String(); s {
			case "$schema", "$id", "$anchor", "$defs", "$ref", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor":
				return s
			}
		}
	}
}

// methodSet says which methods decide how a type is marshalled and bound.
type methodSet struct{ json, marshalText, unmarshalText bool }

func (m methodSet) any() bool { return m.json || m.marshalText || m.unmarshalText }

func methodsOf(t reflect.Type) methodSet {
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[time.Time]() {
		return methodSet{}
	}
	p := reflect.PointerTo(t)
	return methodSet{
		json: p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
			p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[json.MarshalerTo]()),
		marshalText:   p.Implements(reflect.TypeFor[textMarshaler]()) || p.Implements(reflect.TypeFor[textAppender]()),
		unmarshalText: p.Implements(reflect.TypeFor[textUnmarshaler]()),
	}
}

type (
	textMarshaler   interface{ MarshalText() ([]byte, error) }
	textAppender    interface{ AppendText([]byte) ([]byte, error) }
	textUnmarshaler interface{ UnmarshalText([]byte) error }
)

// anyJSON reports whether t takes every JSON value.
func anyJSON(t reflect.Type) bool {
	return t == reflect.TypeFor[jsontext.Value]() ||
		t.PkgPath() == "encoding/json" && t.Name() == "RawMessage" ||
		t.Kind() == reflect.Interface && t.NumMethod() == 0
}

// opaque reports whether a type is described without a look at its parts.
func opaque(t reflect.Type) bool {
	if anyJSON(t) || t == reflect.TypeFor[time.Time]() || methodsOf(t).any() {
		return true
	}
	_, own, err := ownSchema(t)
	return own || err != nil
}

// integerRange returns the least and the greatest value of an integer type, as JSON text.
func integerRange(t reflect.Type) (lo, hi string) {
	bits := t.Bits()
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr {
		return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
}

const (
	// timePattern admits exactly the RFC 3339 moments that time.Time binds: days that exist, no leap second.
	timePattern = `^(?:[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)` +
		`|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)` +
		`T(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}(?:\.[0-9]+)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$`
	base64Pattern = `^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
)

// base64ArrayPattern is base64 of a number of bytes that is 0, 1 or 2 more than a multiple of three.
var base64ArrayPattern = [3]string{
	`^(?:[A-Za-z0-9+/]{4})*$`,
	`^(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}==$`,
	`^(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{3}=$`,
}
