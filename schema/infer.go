package schema

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// For infers the JSON Schema (2020-12) of the Go type T; see [ForType].
func For[T any]() ([]byte, error) { return ForType(reflect.TypeFor[T]()) }

// ForType infers a JSON Schema (2020-12) that admits the JSON which [Bind] binds to
// a value of type t, and which json.Marshal of github.com/go-json-experiment/json makes of one. The
// same type always gives the same bytes: properties stand in the order of the struct's fields.
//
// What each Go type becomes:
//
//   - A struct is an object with additionalProperties false. Names, embedding, "omitempty", "omitzero" and
//     "-" follow that package's rules; names are matched exactly. A member is required unless its field is a
//     pointer, is marked omitempty or omitzero, or is promoted from an embedded pointer. An embedded map
//     or jsontext.Value (`json:",embed"`) takes what no field is named for: it becomes additionalProperties.
//   - A pointer also admits null, which binds to nil. A pointer at the root is looked through.
//   - An integer has the exact bounds of its type, 64-bit ones included, so that none can overflow; a
//     float has the bounds beyond which it would be infinite.
//   - []byte and [N]byte are base64 strings, a slice or array is an array, a map with a string key an object.
//   - [time.Time] is a string with a pattern that admits only the moments of RFC 3339 that exist: format
//     is an annotation here and would admit any string.
//   - any, jsontext.Value and json.RawMessage are the schema {}.
//   - A type with UnmarshalText is a string. Which strings it takes cannot be seen from outside: narrow it
//     with a pattern or enum tag, or give it a JSONSchema method.
//   - A type with the method JSONSchema() []byte is what that returns: one object, complete in itself ($ref, $defs and the like
//     would point elsewhere once it stands inside another schema).
//   - A struct that is used in several places, or within itself, is described once below $defs.
//
// The rest is an error that names the Go path of the field: [time.Duration] (the package has no form for it),
// channels, functions, complex numbers, interfaces with methods, maps with other keys, types with JSON
// methods of their own and no JSONSchema, the json options "string" and "format", and encoding/json's Number.
//
// Constraints come from struct tags, one keyword a tag:
//
//	Path  string   `json:"path" description:"File to read." minLength:"1" maxLength:"4096"`
//	Mode  string   `json:"mode,omitempty" enum:"text,hex"`
//	Limit int      `json:"limit,omitempty" minimum:"1" maximum:"2000"`
//	Tags  []string `json:"tags" minItems:"1" maxItems:"8" pattern:"^[a-z]+$"`
//
// description, minItems and maxItems speak of the field itself. The others (enum, minimum, maximum, minLength, maxLength, pattern)
// speak of the one scalar kind in it: of every element of a slice or map, and never of the null of a pointer. A
// comma separates the values of an enum. Nothing is ever defaulted. A tag that cannot be true of its
// field (a minimum for a string, an enum value that does not bind, a bound outside the type, a pattern
// that does not compile) is an error that names type and field.
func ForType(t reflect.Type) ([]byte, error) {
	if t == nil {
		return nil, errors.New("schema: cannot infer a schema of the nil type")
	}
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	in := inference{root: t, uses: map[reflect.Type]int{}, loops: map[reflect.Type]bool{}, names: map[reflect.Type]string{}}
	in.count(t, map[reflect.Type]bool{})
	where := goPath{typ: t}
	out, err := in.describe(t, where, &tagSet{})
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(in.defOrder); i++ { // describing one may add others
		d := in.defOrder[i]
		body, err := in.body(d, goPath{typ: d}, &tagSet{})
		if err != nil {
			return nil, err
		}
		in.defs.raw(in.names[d], body.bytes())
	}
	if len(in.defs.members) > 0 {
		out.raw("$defs", in.defs.bytes())
	}
	if b := out.bytes(); len(b) <= MaxSchemaBytes {
		return b, nil
	}
	return nil, fmt.Errorf("schema: the schema of %v is over %d bytes", t, MaxSchemaBytes)
}

// goPath says where in a Go type we are, in words an engineer finds again: pkg.Type.Field[].Field.
type goPath struct {
	typ reflect.Type // the named type where the path starts
	at  string
}

func (p goPath) field(name string) goPath { return goPath{p.typ, p.at + "." + name} }
func (p goPath) element() goPath          { return goPath{p.typ, p.at + "[]"} }
func (p goPath) String() string           { return p.typ.String() + p.at }

func (p goPath) errorf(format string, a ...any) error {
	return fmt.Errorf("schema: %v: "+format, append([]any{p}, a...)...)
}

// inference describes one type. Uses and loops are counted before, so that what stands below $defs
// does not depend on the order of the walk.
type inference struct {
	root     reflect.Type
	uses     map[reflect.Type]int  // struct types: at how many places
	loops    map[reflect.Type]bool // types other than structs that hold themselves
	names    map[reflect.Type]string
	defOrder []reflect.Type
	defs     inferObject
}

// count notes how often each struct type is used and which other types hold themselves.
func (in *inference) count(t reflect.Type, open map[reflect.Type]bool) {
	if opaque(t) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		if in.uses[t]++; in.uses[t] > 1 {
			return
		}
		fields, rest, err := structFields(t)
		if err != nil {
			return // told when the type is described
		}
		for _, f := range fields {
			in.count(f.typ, map[reflect.Type]bool{})
		}
		if rest != nil && rest.typ.Kind() == reflect.Map {
			in.count(rest.typ.Elem(), map[reflect.Type]bool{})
		}
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		if open[t] {
			in.loops[t] = true
			return
		}
		open[t] = true
		in.count(t.Elem(), open)
		delete(open, t)
	}
}

// describe returns the schema of t as it stands at one place: a reference where t is described elsewhere.
func (in *inference) describe(t reflect.Type, at goPath, c *tagSet) (*inferObject, error) {
	if onlyPointers(t) {
		return nil, at.errorf("%v points to nothing but pointers", t)
	}
	shared := in.uses[t] > 1 || in.loops[t]
	if !shared || (t == in.root && at.at == "") {
		return in.body(t, at, c)
	}
	o := new(inferObject)
	if t == in.root {
		o.str("$ref", "#")
		return o, nil
	}
	if in.names[t] == "" {
		in.names[t] = in.defName(t)
		in.defOrder = append(in.defOrder, t)
	}
	o.str("$ref", "#/$defs/"+in.names[t])
	return o, nil
}

// defName makes a name that needs no escape in a JSON Pointer or a URI.
func (in *inference) defName(t reflect.Type) string {
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, t.Name())
	if base == "" {
		base = "Object"
	}
	name := base
	for n := 2; ; n++ {
		taken := false
		for _, other := range in.names {
			taken = taken || other == name
		}
		if !taken {
			return name
		}
		name = base + "_" + strconv.Itoa(n)
	}
}

// body describes t itself.
func (in *inference) body(t reflect.Type, at goPath, c *tagSet) (*inferObject, error) {
	if own, ok, err := ownSchema(t); err != nil {
		return nil, at.errorf("%w", err)
	} else if ok {
		if word := rootedWord(own.bytes()); word != "" && at.at != "" {
			return nil, at.errorf("JSONSchema of %v uses %s, which would point elsewhere inside another schema", t, word)
		}
		return own, nil
	}
	o := new(inferObject)
	if anyJSON(t) {
		return o, nil
	}
	switch has := methodsOf(t); {
	case has.json:
		return nil, at.errorf("%v has JSON methods of its own, so its schema cannot be seen; give it a method JSONSchema() []byte", t)
	case has.unmarshalText:
		o.str("type", "string")
		return o, c.textKeywords(o, at, t)
	case has.marshalText:
		return nil, at.errorf("%v marshals as text but binds as Go's default; give it UnmarshalText or a method JSONSchema() []byte", t)
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		o.str("type", "string")
		o.str("format", "date-time")
		if err := c.textKeywords(o, at, t); err != nil {
			return nil, err
		}
		if !o.has("pattern") {
			o.str("pattern", timePattern)
		}
		return o, nil
	case t == reflect.TypeFor[time.Duration]():
		return nil, at.errorf("time.Duration has no JSON form; use an integer whose name has the unit, for example TimeoutMs int64 `json:\"timeout_ms\"`")
	case t.PkgPath() == "encoding/json" && t.Name() == "Number":
		return nil, at.errorf("encoding/json.Number binds from a string only; use int64, float64 or jsontext.Value")
	}
	switch t.Kind() {
	case reflect.Bool:
		o.str("type", "boolean")
		return o, nil
	case reflect.String:
		o.str("type", "string")
		return o, c.textKeywords(o, at, t)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		o.str("type", "integer")
		lo, hi := integerRange(t)
		return o, c.numberKeywords(o, at, t, lo, hi)
	case reflect.Float32:
		o.str("type", "number")
		hi := strconv.FormatFloat(math.MaxFloat32, 'g', -1, 32)
		return o, c.numberKeywords(o, at, t, "-"+hi, hi)
	case reflect.Float64:
		o.str("type", "number")
		hi := strconv.FormatFloat(math.MaxFloat64, 'g', -1, 64)
		return o, c.numberKeywords(o, at, t, "-"+hi, hi)
	case reflect.Pointer:
		return in.nullable(t, at, c)
	case reflect.Slice, reflect.Array:
		return in.list(t, at, c)
	case reflect.Map:
		if t.Key().Kind() != reflect.String || methodsOf(t.Key()).any() {
			return nil, at.errorf("a map needs a plain string key to be a JSON object, not %v", t.Key())
		}
		elem, err := in.describe(t.Elem(), at.element(), c)
		if err != nil {
			return nil, err
		}
		o.str("type", "object")
		if len(elem.members) > 0 {
			o.raw("additionalProperties", elem.bytes())
		}
		return o, nil
	case reflect.Struct:
		return in.structure(t, at)
	case reflect.Interface:
		return nil, at.errorf("the interface %v does not say which type to bind; use any, jsontext.Value or a struct", t)
	}
	return nil, at.errorf("%v has no JSON form", t)
}

// nullable describes a pointer: what it points to, or null.
func (in *inference) nullable(t reflect.Type, at goPath, c *tagSet) (*inferObject, error) {
	elem := t
	for elem.Kind() == reflect.Pointer {
		elem = elem.Elem()
	}
	o, err := in.describe(elem, at, c)
	if err != nil {
		return nil, err
	}
	if o.admitNull() {
		return o, nil
	}
	either := new(inferObject)
	either.raw("anyOf", []byte(`[`+string(o.bytes())+`,{"type":"null"}]`))
	return either, nil
}

// onlyPointers reports whether a chain of pointers never ends.
func onlyPointers(t reflect.Type) bool {
	seen := map[reflect.Type]bool{}
	for ; t.Kind() == reflect.Pointer && !seen[t]; t = t.Elem() {
		seen[t] = true
	}
	return t.Kind() == reflect.Pointer
}

// list describes a slice or an array; bytes are base64 text.
func (in *inference) list(t reflect.Type, at goPath, c *tagSet) (*inferObject, error) {
	o := new(inferObject)
	if t.Elem().Kind() == reflect.Uint8 && t.Elem().PkgPath() == "" {
		o.str("type", "string")
		o.str("contentEncoding", "base64")
		if t.Kind() == reflect.Slice {
			o.str("pattern", base64Pattern)
			return o, nil
		}
		size := (t.Len() + 2) / 3 * 4
		o.num("minLength", strconv.Itoa(size))
		o.num("maxLength", strconv.Itoa(size))
		o.str("pattern", base64ArrayPattern[t.Len()%3])
		return o, nil
	}
	o.str("type", "array")
	minItems, maxItems := c.takeItems()
	elem, err := in.describe(t.Elem(), at.element(), c)
	if err != nil {
		return nil, err
	}
	o.raw("items", elem.bytes())
	if t.Kind() == reflect.Array {
		if minItems != "" || maxItems != "" {
			return nil, at.errorf("minItems and maxItems cannot change the length of %v", t)
		}
		minItems, maxItems = strconv.Itoa(t.Len()), strconv.Itoa(t.Len())
	}
	return o, countKeywords(o, at, "minItems", minItems, "maxItems", maxItems)
}

// structure describes a struct.
func (in *inference) structure(t reflect.Type, at goPath) (*inferObject, error) {
	fields, rest, err := structFields(t)
	if err != nil {
		return nil, at.errorf("%w", err)
	}
	var props inferObject
	var required [][]byte
	for _, f := range fields {
		where := at.field(f.path)
		if f.unsettable {
			return nil, where.errorf("it is promoted from a pointer to an unexported type, which cannot be set")
		}
		if f.quoted {
			return nil, where.errorf("the json option string is not supported: numbers stay exact without it")
		}
		fc, err := readTags(f.tag, where)
		if err != nil {
			return nil, err
		}
		o, err := in.describe(f.typ, where, fc)
		if err != nil {
			return nil, err
		}
		if err := fc.leftOver(where, f.typ); err != nil {
			return nil, err
		}
		o.describeWith(f.tag.Get("description"))
		props.raw(f.name, o.bytes())
		if !f.optional() {
			required = append(required, jsonString(f.name))
		}
	}
	o := new(inferObject)
	o.str("type", "object")
	o.raw("properties", props.bytes())
	if len(required) > 0 {
		o.raw("required", []byte("["+string(bytes.Join(required, []byte(",")))+"]"))
	}
	switch {
	case rest == nil:
		o.raw("additionalProperties", []byte("false"))
	case rest.typ.Kind() == reflect.Map:
		elem, err := in.describe(rest.typ.Elem(), at.field(rest.path).element(), &tagSet{})
		if err != nil {
			return nil, err
		}
		if len(elem.members) > 0 {
			o.raw("additionalProperties", elem.bytes())
		}
	}
	return o, nil
}
