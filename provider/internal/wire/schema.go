package wire

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/llm"
)

// lower returns the schema as the provider accepts it, and the property names
// that it does not. What is returned is only shown: a call is checked against
// the schema as it was, so what is dropped here is still enforced.
//
//   - the root is an object with properties, even if there are none; if it is a
//     reference, what it refers to stands there;
//   - the keywords that limits refuse at the root go; properties that only their
//     branches declare move up, so that the model still sees them;
//   - a $schema other than 2020-12 goes, and what older drafts write otherwise
//     (lists of items, boolean exclusive bounds) is written as in 2020-12;
//   - property names that limits refuse are replaced, where they are declared
//     and where they are required;
//   - a $ref that none of this leaves with a target goes.
//
// A schema that needs none of that is returned byte for byte.
func lower(raw json.RawMessage, limits llm.Limits) (json.RawMessage, *keys) {
	l := lowering{limits: limits}
	root, err := parse(raw)
	if err != nil || root.kind != '{' {
		root = object() // true, false or null: an object without properties is all that can be shown
		l.changed = true
	}
	l.root = root
	l.inline()
	l.object()
	l.hoist()
	declared := map[string]bool{}
	l.walk(root, func(s *value) {
		l.modernize(s)
		for _, kw := range []string{"properties", "dependentSchemas", "dependentRequired", "dependencies"} {
			for _, m := range members(s.get(kw)) {
				declared[m.name] = true
			}
		}
		for _, name := range s.get("required").strings() {
			declared[name] = true
		}
	})
	k := newKeys(declared, limits.Key)
	if k != nil {
		l.changed = true
		l.walk(root, func(s *value) { k.rename(s) })
	}
	if l.changed {
		l.dropDangling()
		return root.appendTo(nil), k
	}
	return raw, nil
}

type lowering struct {
	root    *value
	limits  llm.Limits
	changed bool
}

func members(v *value) []field {
	if v == nil {
		return nil
	}
	return v.members
}

// inline replaces a reference at the root by its target.
func (l *lowering) inline() {
	seen := map[*value]bool{l.root: true}
	for {
		ref, ok := l.root.get("$ref").text()
		if !ok {
			return
		}
		target := l.resolve(ref)
		if target == nil || seen[target] {
			return
		}
		seen[target] = true
		l.root.remove("$ref")
		l.changed = true
		for _, m := range members(target) {
			if l.root.get(m.name) == nil {
				l.root.set(m.name, m.value)
			}
		}
	}
}

// object makes the root say that it is an object with properties.
func (l *lowering) object() {
	if s, _ := l.root.get("type").text(); s != "object" {
		l.root.set("type", leaf("object"))
		l.changed = true
	}
	if p := l.root.get("properties"); p == nil || p.kind != '{' {
		l.root.set("properties", object())
		l.changed = true
	}
}

// hoist removes the refused keywords from the root. Of a list of branches it
// keeps what can be said without it: the properties, and of the required ones
// those that every choice has.
func (l *lowering) hoist() {
	for _, kw := range l.limits.RootRefused {
		list := l.root.get(kw)
		if list == nil {
			continue
		}
		l.root.remove(kw)
		l.changed = true
		if kw != "allOf" && kw != "anyOf" && kw != "oneOf" {
			continue
		}
		var required [][]string
		added := map[string]bool{}
		for _, branch := range list.items {
			required = append(required, l.branch(branch, added, map[*value]bool{}))
		}
		l.require(required, kw == "allOf")
	}
}

// branch adds what a branch declares to the root's properties, and returns what
// it requires. A property that several branches declare may be what any of them
// says; one that the root itself declares stays as it is there.
func (l *lowering) branch(b *value, added map[string]bool, seen map[*value]bool) []string {
	if b == nil || seen[b] {
		return nil
	}
	seen[b] = true
	props := l.root.get("properties")
	for _, m := range members(b.get("properties")) {
		have := props.get(m.name)
		switch {
		case have == nil:
			props.set(m.name, m.value)
			added[m.name] = true
		case added[m.name]:
			props.set(m.name, either(have, m.value))
		}
	}
	required := b.get("required").strings()
	if ref, ok := b.get("$ref").text(); ok {
		required = append(required, l.branch(l.resolve(ref), added, seen)...)
	}
	for _, kw := range []string{"allOf", "anyOf", "oneOf"} {
		if list := b.get(kw); list != nil {
			for _, sub := range list.items {
				r := l.branch(sub, added, seen)
				if kw == "allOf" {
					required = append(required, r...)
				}
			}
		}
	}
	return required
}

// require adds to the root's required names: all of those of the branches, or
// those that every branch has.
func (l *lowering) require(branches [][]string, all bool) {
	if len(branches) == 0 {
		return
	}
	have := l.root.get("required").strings()
	grew := false
	for i, names := range branches {
		if i > 0 && !all {
			break // what is in every branch is in the first
		}
		for _, n := range names {
			everywhere := all || !slices.ContainsFunc(branches, func(b []string) bool { return !slices.Contains(b, n) })
			if everywhere && !slices.Contains(have, n) {
				have, grew = append(have, n), true
			}
		}
	}
	if grew {
		l.root.set("required", leaf(have))
	}
}

// either returns a schema that accepts what a or b does.
func either(a, b *value) *value {
	if string(a.appendTo(nil)) == string(b.appendTo(nil)) {
		return a
	}
	if list := a.get("anyOf"); list != nil && len(a.members) == 1 {
		for _, e := range list.items {
			if string(e.appendTo(nil)) == string(b.appendTo(nil)) {
				return a
			}
		}
		return &value{kind: '{', members: []field{{"anyOf", &value{kind: '[', items: append(slices.Clone(list.items), b)}}}}
	}
	return &value{kind: '{', members: []field{{"anyOf", &value{kind: '[', items: []*value{a, b}}}}}
}

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// modernize writes a subschema of an older draft as 2020-12 does.
func (l *lowering) modernize(s *value) {
	if d := s.get("$schema"); d != nil {
		if name, ok := d.text(); !ok || strings.TrimSuffix(name, "#") != draft2020 {
			s.remove("$schema")
			l.changed = true
		}
	}
	if items := s.get("items"); items != nil && items.kind == '[' {
		rest := s.get("additionalItems")
		s.remove("items")
		s.remove("additionalItems")
		s.set("prefixItems", items)
		if rest != nil {
			s.set("items", rest)
		}
		l.changed = true
	}
	for _, kw := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		x := s.get(kw[0])
		if x == nil || string(x.raw) != "true" && string(x.raw) != "false" {
			continue
		}
		bound := s.get(kw[1])
		s.remove(kw[0])
		if string(x.raw) == "true" && bound != nil {
			s.remove(kw[1])
			s.set(kw[0], bound)
		}
		l.changed = true
	}
}

// Where a schema has schemas: as the value, in a list, in a map.
var (
	schemaIn = []string{"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	schemasIn   = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaMapIn = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// walk visits s and every schema in it, each before those in it. What is visited
// is a tree: references are not followed.
func (l *lowering) walk(s *value, visit func(*value)) {
	if s.kind != '{' {
		return
	}
	visit(s)
	for _, kw := range schemaIn {
		if v := s.get(kw); v != nil {
			l.walk(v, visit)
		}
	}
	for _, kw := range schemasIn {
		if v := s.get(kw); v != nil {
			for _, e := range v.items {
				l.walk(e, visit)
			}
		}
	}
	for _, kw := range schemaMapIn {
		for _, m := range members(s.get(kw)) {
			l.walk(m.value, visit)
		}
	}
}

// rename replaces the refused names in one schema.
func (k *keys) rename(s *value) {
	list := func(v *value) {
		if v == nil {
			return
		}
		for i, e := range v.items {
			if name, ok := e.text(); ok && k.shown[name] != "" {
				v.items[i] = leaf(k.shown[name])
			}
		}
	}
	list(s.get("required"))
	for _, kw := range []string{"properties", "dependentSchemas", "dependentRequired", "dependencies"} {
		v := s.get(kw)
		for i, m := range members(v) {
			if to := k.shown[m.name]; to != "" {
				v.members[i].name = to
			}
			if kw == "dependentRequired" || kw == "dependencies" {
				list(m.value)
			}
		}
	}
	if ref, ok := s.get("$ref").text(); ok {
		if to, ok := k.inPointer(ref); ok {
			s.set("$ref", leaf(to))
		}
	}
}

// inPointer replaces refused names in a reference into the schema itself.
func (k *keys) inPointer(ref string) (string, bool) {
	tokens, ok := pointer(ref)
	changed := false
	for i := 1; i < len(tokens); i++ {
		if tokens[i-1] != "properties" && tokens[i-1] != "dependentSchemas" && tokens[i-1] != "dependencies" {
			continue
		}
		if to := k.shown[tokens[i]]; to != "" {
			tokens[i], changed = to, true
		}
	}
	if !ok || !changed {
		return ref, false
	}
	var b strings.Builder
	b.WriteString("#")
	for _, t := range tokens {
		t = strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1")
		b.WriteString("/" + url.PathEscape(t))
	}
	return b.String(), true
}

// pointer returns the tokens of a reference of the form #/a/b.
func pointer(ref string) ([]string, bool) {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	tokens := strings.Split(rest, "/")
	for i, t := range tokens {
		t, err := url.PathUnescape(t)
		if err != nil {
			return nil, false
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens, true
}

// resolve returns what a reference into the schema itself points to, or nil.
func (l *lowering) resolve(ref string) *value {
	if ref == "#" {
		return l.root
	}
	tokens, ok := pointer(ref)
	if !ok {
		return nil
	}
	at := l.root
	for _, t := range tokens {
		switch {
		case at == nil:
			return nil
		case at.kind == '[':
			n, err := strconv.Atoi(t)
			if err != nil || n < 0 || n >= len(at.items) {
				return nil
			}
			at = at.items[n]
		default:
			at = at.get(t)
		}
	}
	return at
}

// dropDangling removes the references whose target was removed.
func (l *lowering) dropDangling() {
	l.walk(l.root, func(s *value) {
		if ref, ok := s.get("$ref").text(); ok && strings.HasPrefix(ref, "#/") && l.resolve(ref) == nil {
			s.remove("$ref")
		}
	})
}
