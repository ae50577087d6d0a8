package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// goField is a member that a Go struct takes part in JSON with.
type goField struct {
	name       string // of the JSON member
	path       string // Go names from the struct down, through embedded ones
	typ        reflect.Type
	tag        reflect.StructTag
	index      []int
	named      bool // the json tag gives the name
	omit       bool // omitempty or omitzero
	foldCase   bool // case:ignore
	viaPointer bool // promoted from an embedded pointer, which marshals as nothing when it is nil
	quoted     bool // the option string: a number inside a JSON string
	unsettable bool // promoted from an embedded pointer to an unexported type
}

// optional reports whether an object may lack the member.
func (f goField) optional() bool {
	return f.omit || f.viaPointer || f.typ.Kind() == reflect.Pointer
}

// structFields lists the members of a struct in the order of its fields, and the embedded map or
// jsontext.Value that takes all others (nil: there is none).
//
// The rules are those of github.com/go-json-experiment/json v1.27: breadth first over embedded structs; of several fields
// with one name the shallowest wins, at the same depth the only one with a name in its tag, else none.
// Whether the tags are well-formed at all that package is asked itself.
func structFields(t reflect.Type) (fields []goField, rest *goField, err error) {
	if err := json.Unmarshal([]byte("{}"), reflect.New(t).Interface()); err != nil {
		return nil, nil, fmt.Errorf("%v cannot be bound: %w", t, jsonCause(err))
	}
	type level struct {
		typ    reflect.Type
		from   goField
		expand bool
	}
	queue := []level{{typ: t, expand: true}}
	seen := map[reflect.Type]bool{t: true}
	var all, fallbacks []goField
	for i := 0; i < len(queue); i++ {
		l := queue[i]
		for n := range l.typ.NumField() {
			sf := l.typ.Field(n)
			f, embedded, ok := jsonField(sf)
			if !ok {
				continue
			}
			f.index = append(slices.Clone(l.from.index), n)
			f.path = strings.TrimPrefix(l.from.path+"."+sf.Name, ".")
			f.viaPointer, f.unsettable = l.from.viaPointer, l.from.unsettable
			if !embedded {
				all = append(all, f)
				continue
			}
			inner := sf.Type
			if inner.Kind() == reflect.Pointer && inner.Name() == "" {
				inner = inner.Elem()
				f.viaPointer = true
				f.unsettable = f.unsettable || !sf.IsExported()
			}
			f.typ = inner
			if inner.Kind() != reflect.Struct {
				fallbacks = append(fallbacks, f)
				continue
			}
			if l.expand {
				queue = append(queue, level{inner, f, !seen[inner]})
			}
			seen[inner] = true
		}
	}
	fields = dominant(all)
	if n := len(fallbacks); n == 1 || n > 1 && len(fallbacks[0].index) != len(fallbacks[1].index) {
		rest = &fallbacks[0]
	}
	return fields, rest, nil
}

// dominant keeps, of each set of fields with one name, the one that Go's rules of embedding select.
func dominant(all []goField) []goField {
	slices.SortStableFunc(all, func(a, b goField) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)), trueFirst(a.named, b.named))
	})
	var kept []goField
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		if n == 1 || len(all[0].index) != len(all[1].index) || all[0].named != all[1].named {
			kept = append(kept, all[0])
		}
		all = all[n:]
	}
	slices.SortFunc(kept, func(a, b goField) int { return slices.Compare(a.index, b.index) })
	return kept
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// jsonField reads the json tag of a field; ok is false where the field has no part in JSON.
func jsonField(sf reflect.StructField) (f goField, embedded, ok bool) {
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && !sf.Anonymous {
		return goField{}, false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	f = goField{name: cmp.Or(name, sf.Name), named: name != "", typ: sf.Type, tag: sf.Tag}
	embedded = sf.Anonymous && !f.named
	for option := range strings.SplitSeq(options, ",") {
		switch key, value, _ := strings.Cut(option, ":"); key {
		case "omitempty", "omitzero":
			f.omit = true
		case "embed":
			embedded = true
		case "case":
			f.foldCase = value == "ignore"
		case "string":
			f.quoted = true
		}
	}
	return f, embedded, true
}

// foldField is the name as case:ignore compares it: without case, dashes and underscores.
func foldField(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// jsonCause is what a json error says without its prefix about Go values.
func jsonCause(err error) error {
	if s, ok := err.(*json.SemanticError); ok && s.Err != nil {
		return s.Err
	}
	if s, ok := err.(*jsontext.SyntacticError); ok && s.Err != nil {
		return s.Err
	}
	return err
}
