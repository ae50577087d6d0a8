package schema

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Binds reports whether a Go type can bind what an explicit schema admits, as far as that can be decided: it is the check
// at registration for a tool whose schema was written by hand beside its argument struct. nil means that nothing was found, not that
// every instance binds. The error names the JSON Pointer of each subschema and the Go path of each field:
//
//	schema: /properties/userId: the schema declares "userId" but main.Args.UserID is named "userid": names are matched exactly
//
// Found are: a declared property with no field, or with one whose name differs by case; an object's typed additionalProperties with no embedded map to keep
// them; a JSON type that the Go kind does not take; integers wider than the Go integer (a bound missing or too far for
// widths below 64 bits and for the sign of unsigned types; "number" for any integer); enum values that do not
// bind; strings with no pattern or format for []byte and time.Time; lists of another length than the Go array; Go types with no JSON form.
//
// Not reported, and an error of [Bind] when it happens: an integer without bounds beyond 64 bits, a number beyond a
// float, a string that UnmarshalText refuses. Types with JSON methods of their own are believed. Where keywords that stand side by side
// narrow each other (allOf, not, if, oneOf that may overlap, $ref with siblings), nothing below is judged.
func Binds(t reflect.Type, schemaJSON []byte) error {
	raw := jsontext.Value(schemaJSON)
	if !raw.IsValid() {
		return errors.New("schema: the schema is not JSON")
	}
	if t == nil {
		return errors.New("schema: there is no Go type to bind to")
	}
	for t.Kind() == reflect.Pointer {
		if t = t.Elem(); t.Name() != "" && t.Kind() == reflect.Pointer {
			break
		}
	}
	b := binding{root: raw, seen: map[bindVisit]bool{}, left: maxBindVisits}
	b.judge(raw, "", t, goPath{typ: t})
	return errors.Join(b.faults...)
}

const (
	maxBindFaults = 16    // told in one error
	maxBindVisits = 20000 // pairs of subschema and type looked at
)

type binding struct {
	root   jsontext.Value
	seen   map[bindVisit]bool
	left   int // visits that may still be made
	faults []error
}

type bindVisit struct {
	at  string
	typ reflect.Type
}

func (b *binding) fault(at string, format string, a ...any) {
	if len(b.faults) < maxBindFaults {
		b.faults = append(b.faults, fmt.Errorf("schema: %s: "+format, append([]any{pointerOrRoot(at)}, a...)...))
	}
}

func pointerOrRoot(at string) string {
	if at == "" {
		return "the root"
	}
	return at
}

// judge compares one subschema with one type. Everything that it is not sure of it passes over.
func (b *binding) judge(raw jsontext.Value, at string, t reflect.Type, path goPath) {
	v := bindVisit{at, t}
	if b.seen[v] || b.left <= 0 || len(b.faults) >= maxBindFaults {
		return
	}
	b.seen[v] = true
	b.left--
	if raw.Kind() == 'f' {
		return // admits nothing
	}
	t = behindPointers(t)
	if believed(t) {
		return
	}
	var k bindKeywords
	if raw.Kind() == '{' {
		if json.Unmarshal(raw, &k) != nil {
			return // not a schema that compiles; the compiler says so better
		}
	}
	if _, own := k.Rest["$id"]; k.narrows() || own && at != "" {
		return // a document within the document: its references start elsewhere
	}
	switch {
	case k.Ref != "":
		if target, at, ok := b.follow(k.Ref); ok && !k.asserts() && k.AnyOf == nil && k.OneOf == nil {
			b.judge(target, at, t, path)
		}
	case k.AnyOf != nil || k.OneOf != nil:
		if k.asserts() || k.AnyOf != nil && k.OneOf != nil {
			return
		}
		branches, name := k.AnyOf, "anyOf"
		if k.OneOf != nil {
			if branches, name = k.OneOf, "oneOf"; !disjoint(branches) {
				return
			}
		}
		for i, branch := range branches {
			b.judge(branch, at+"/"+name+"/"+strconv.Itoa(i), t, path)
		}
	case k.Enum != nil || k.Const != nil:
		b.judgeEnum(&k, at, t, path)
	default:
		b.judgeKind(&k, at, t, path)
	}
}

// follow resolves a reference within the document by JSON Pointer.
func (b *binding) follow(ref string) (raw jsontext.Value, at string, ok bool) {
	at, local := strings.CutPrefix(ref, "#")
	if !local || strings.Contains(at, "%") || at != "" && at[0] != '/' {
		return nil, "", false
	}
	s, ok := locate(b.root, at)
	if !ok {
		return nil, "", false
	}
	return b.root[s.start:s.end], at, true
}

// disjoint reports whether no value can match two of the branches, by their types alone.
func disjoint(branches []jsontext.Value) bool {
	seen := map[string]bool{}
	for _, raw := range branches {
		var k bindKeywords
		if raw.Kind() != '{' || json.Unmarshal(raw, &k) != nil {
			return false
		}
		types := k.types()
		if len(types) == 0 {
			return false
		}
		for _, name := range types {
			if name == "integer" {
				name = "number"
			}
			if seen[name] {
				return false
			}
			seen[name] = true
		}
	}
	return true
}

// judgeEnum binds each value. Values that other keywords may exclude are not judged.
func (b *binding) judgeEnum(k *bindKeywords, at string, t reflect.Type, path goPath) {
	alone := *k
	alone.Type, alone.Enum, alone.Const = nil, nil, nil
	if alone.asserts() || k.Enum != nil && k.Const != nil {
		return
	}
	values := k.Enum
	if k.Const != nil {
		values = []jsontext.Value{k.Const}
	}
	types := k.types()
	for _, value := range values {
		if len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return kindHas(name, value.Kind()) }) {
			continue
		}
		if err := Bind(value, reflect.New(t).Interface()); err != nil {
			b.fault(at, "the schema admits %s, which %v (%v) cannot bind", value, path, t)
		}
	}
}

func kindHas(name string, kind jsontext.Kind) bool {
	switch kind {
	case 'n':
		return name == "null"
	case 't', 'f':
		return name == "boolean"
	case '"':
		return name == "string"
	case '0':
		return name == "number" // an integer beside it is not worth the doubt
	case '{':
		return name == "object"
	}
	return name == "array"
}

// judgeKind compares the types that the schema names with what the Go kind takes, then their parts.
func (b *binding) judgeKind(k *bindKeywords, at string, t reflect.Type, path goPath) {
	takes := goTakes(t)
	if takes == nil {
		b.fault(at, "%v (%v) has no JSON form to bind", path, t)
		return
	}
	types := k.types()
	if len(types) == 0 && at != "" && !k.asserts() {
		b.fault(at, "the schema admits any JSON, %v (%v) binds only %s: name the type", path, t, strings.Join(takes, " or "))
		return
	}
	for _, name := range types {
		if name == "null" || slices.Contains(takes, name) || name == "number" && slices.Contains(takes, "integer") && k.onlyIntegers() {
			continue
		}
		b.fault(at, "the schema admits %s, %v (%v) binds only %s", name, path, t, strings.Join(takes, " or "))
	}
	has := func(name string) bool { return slices.Contains(types, name) && slices.Contains(takes, name) }
	switch {
	case has("integer") || slices.Contains(types, "number") && slices.Contains(takes, "integer"):
		b.judgeInteger(k, at, t, path)
	case has("string"):
		b.judgeString(k, at, t, path)
	case has("array"):
		b.judgeArray(k, at, t, path)
	case has("object"), len(types) == 0 && at == "" && slices.Contains(takes, "object"):
		b.judgeObject(k, at, t, path)
	}
}

func (b *binding) judgeArray(k *bindKeywords, at string, t reflect.Type, path goPath) {
	if t.Kind() == reflect.Array && !isBytes(t) {
		least, most := lengthOf(k.MinItems), lengthOf(k.MaxItems)
		if k.Items.Kind() == 'f' && (most < 0 || most > len(k.PrefixItems)) {
			most = len(k.PrefixItems)
		}
		if least != t.Len() || most != t.Len() {
			b.fault(at, "the schema admits lists of other lengths than %d, the only one that %v (%v) binds: set minItems and maxItems", t.Len(), path, t)
		}
	}
	for i, item := range k.PrefixItems {
		b.judge(item, at+"/prefixItems/"+strconv.Itoa(i), t.Elem(), path.element())
	}
	if k.Items.Kind() == '{' || k.Items.Kind() == 't' {
		b.judge(k.Items, at+"/items", t.Elem(), path.element())
	}
}

func (b *binding) judgeObject(k *bindKeywords, at string, t reflect.Type, path goPath) {
	open := k.AdditionalProperties.Kind() == '{' || k.AdditionalProperties.Kind() == 't'
	if t.Kind() == reflect.Map {
		for _, name := range sortedNames(k.Properties) {
			b.judge(k.Properties[name], below(at, "properties", name), t.Elem(), path.element())
		}
		for _, name := range sortedNames(k.PatternProperties) {
			b.judge(k.PatternProperties[name], below(at, "patternProperties", name), t.Elem(), path.element())
		}
		if open {
			b.judge(k.AdditionalProperties, at+"/additionalProperties", t.Elem(), path.element())
		}
		return
	}
	fields, rest, err := structFields(t)
	if err != nil {
		b.fault(at, "%v: %w", path, err)
		return
	}
	for _, name := range sortedNames(k.Properties) {
		if k.Properties[name].Kind() != 'f' {
			b.judgeMember(name, k.Properties[name], below(at, "properties", name), t, fields, rest, path)
		}
	}
	switch {
	case rest == nil && k.AdditionalProperties.Kind() == '{' && bytes.ContainsAny(k.AdditionalProperties, ":"):
		b.fault(at+"/additionalProperties", "the schema describes further members, %v has no embedded map to keep them: add one with `json:\",embed\"`", path)
	case rest == nil && len(k.PatternProperties) > 0:
		b.fault(at+"/patternProperties", "the schema describes further members, %v has no embedded map to keep them: add one with `json:\",embed\"`", path)
	case rest != nil && rest.typ.Kind() == reflect.Map && open:
		b.judge(k.AdditionalProperties, at+"/additionalProperties", rest.typ.Elem(), path.field(rest.path).element())
	}
}

// judgeMember finds the field of a declared property.
func (b *binding) judgeMember(name string, raw jsontext.Value, at string, t reflect.Type, fields []goField, rest *goField, path goPath) {
	var alike *goField
	for i, f := range fields {
		switch {
		case f.name == name || f.foldCase && foldField(f.name) == foldField(name):
			if f.unsettable {
				b.fault(at, "%v is promoted from a pointer to an unexported type, which cannot be set", path.field(f.path))
				return
			}
			if !f.quoted { // a number inside a string: which strings hold one is for its pattern to say
				b.judge(raw, at, f.typ, path.field(f.path))
			}
			return
		case foldField(f.name) == foldField(name):
			alike = &fields[i]
		}
	}
	switch {
	case rest != nil && rest.typ.Kind() == reflect.Map:
		b.judge(raw, at, rest.typ.Elem(), path.field(rest.path).element())
	case rest != nil:
	case alike != nil:
		b.fault(at, "the schema declares %q but %v is named %q: names are matched exactly", name, path.field(alike.path), alike.name)
	default:
		b.fault(at, "the schema declares %q, %v has no field for it: its value would be dropped", name, path)
	}
}

// behindPointers is the type behind pointers: a null binds to the pointer, anything else to what it points to.
func behindPointers(t reflect.Type) reflect.Type {
	for n := 0; t.Kind() == reflect.Pointer && n < 8; n++ {
		t = t.Elem()
	}
	return t
}

// believed reports whether a type is taken at its word: it takes any JSON or decides itself.
func believed(t reflect.Type) bool {
	return anyJSON(t) || methodsOf(t).json || t.Kind() == reflect.Pointer
}

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8 && t.Elem().PkgPath() == ""
}

// goTakes lists the JSON types beside null that a type binds, nil for a type with no JSON form.
func goTakes(t reflect.Type) []string {
	switch {
	case t == reflect.TypeFor[time.Time](), methodsOf(t).unmarshalText, isBytes(t):
		return []string{"string"}
	case t == reflect.TypeFor[time.Duration]():
		return nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.String:
		return []string{"string"}
	case reflect.Float32, reflect.Float64:
		return []string{"number", "integer"}
	case reflect.Slice, reflect.Array:
		return []string{"array"}
	case reflect.Struct, reflect.Map:
		return []string{"object"}
	}
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr {
		return []string{"integer"}
	}
	return nil
}

func sortedNames(m map[string]jsontext.Value) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// below is the pointer to a keyword's subschema for a name.
func below(at, keyword, name string) string {
	return string(jsontext.Pointer(at).AppendToken(keyword).AppendToken(name))
}
