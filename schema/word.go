package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pb33f/jsonschema/v6"
	"github.com/pb33f/jsonschema/v6/kind"

	"github.com/callgate/callgate/internal/closest"
)

// word puts one finding into a sentence for the model.
func (e *explainer) word(f finding) Violation {
	v := Violation{Path: f.path, Keyword: keyword(f.err)}
	value, _ := at(e.root, f.err.InstanceLocation)
	if f.union != nil {
		e.wordUnion(&v, f, value)
	} else {
		e.wordKeyword(&v, f, value)
	}
	v.Message += f.branch
	return v
}

func (e *explainer) wordKeyword(v *Violation, f finding, value any) {
	say := func(format string, args ...any) { v.Message = fmt.Sprintf(format, args...) }
	bound := func(relation, want string) {
		v.Expected, v.Got = relation+" "+want, show(value)
		say("must be %s %s, got %s", relation, want, v.Got)
	}
	count := func(relation string, want, have int, unit string) {
		if want == 1 {
			unit = strings.TrimSuffix(unit, "s")
		}
		v.Expected, v.Got = fmt.Sprintf("%s %d %s", relation, want, unit), fmt.Sprint(have)
		say("must have %s, got %d", v.Expected, have)
	}
	switch k := f.err.ErrorKind.(type) {
	case *kind.Required:
		v.Expected = e.describe(f, f.name)
		say("missing required field%s", prefixed("; expected ", v.Expected))
	case *kind.DependentRequired:
		v.Expected = e.describe(f, f.name)
		say("missing field, required when %s is present%s", quote(k.Prop), prefixed("; expected ", v.Expected))
	case *kind.Dependency:
		v.Expected = e.describe(f, f.name)
		say("missing field, required when %s is present%s", quote(k.Prop), prefixed("; expected ", v.Expected))
	case *kind.AdditionalProperties:
		e.wordUnknown(v, f, value)
	case *kind.FalseSchema:
		if v.Keyword == "unevaluatedProperties" && len(f.loc) > 0 {
			f.name = f.loc[len(f.loc)-1]
			parent, _ := at(e.root, f.loc[:len(f.loc)-1])
			f.err = &jsonschema.ValidationError{SchemaURL: f.err.SchemaURL, InstanceLocation: f.loc[:len(f.loc)-1]}
			e.wordUnknown(v, f, parent)
			return
		}
		v.Got = got(value)
		say("the schema accepts no value here; leave it out")
	case *kind.PropertyNames:
		reason := "its name breaks the rule for names here"
		inner := explainer{graph: e.graph, root: k.Property}
		for _, c := range f.err.Causes {
			inner.walk(c, "")
		}
		if vs := inner.settle(); len(vs) > 0 {
			reason, v.Expected, v.Allowed, v.Closest = vs[0].Message, vs[0].Expected, vs[0].Allowed, vs[0].Closest
		}
		say("the name %s is not accepted: %s", quote(k.Property), reason)
	case *kind.Type:
		v.Expected, v.Got = strings.Join(k.Want, " or "), got(value)
		say("expected %s, got %s%s", v.Expected, v.Got, insideString(value, k.Want))
	case *kind.Enum:
		wordEnum(v, k.Want, value)
	case *kind.Const:
		wordEnum(v, []any{k.Want}, value)
	case *kind.Minimum:
		bound("at least", number(k.Want))
	case *kind.Maximum:
		bound("at most", number(k.Want))
	case *kind.ExclusiveMinimum:
		bound("greater than", number(k.Want))
	case *kind.ExclusiveMaximum:
		bound("less than", number(k.Want))
	case *kind.MultipleOf:
		bound("a multiple of", number(k.Want))
	case *kind.MinLength:
		count("at least", k.Want, k.Got, "characters")
	case *kind.MaxLength:
		count("at most", k.Want, k.Got, "characters")
	case *kind.MinItems:
		count("at least", k.Want, k.Got, "items")
	case *kind.MaxItems:
		count("at most", k.Want, k.Got, "items")
	case *kind.MinProperties:
		count("at least", k.Want, k.Got, "fields")
	case *kind.MaxProperties:
		count("at most", k.Want, k.Got, "fields")
	case *kind.AdditionalItems:
		arr, _ := value.([]any)
		count("at most", len(arr)-k.Count, len(arr), "items")
	case *kind.Pattern:
		v.Expected, v.Got = "text that matches "+clip(oneLine(k.Want), maxShown), show(k.Got)
		say("must match the pattern %s, got %s", clip(oneLine(k.Want), maxShown), v.Got)
	case *kind.Format: // only a metaschema asserts it
		v.Got = show(value)
		say("%s is not a valid %s: %v", v.Got, k.Want, k.Err)
	case *kind.UniqueItems:
		say("items must be unique: item %d equals item %d", k.Duplicates[1], k.Duplicates[0])
	case *kind.Contains:
		say("must have an item of the required kind, got none%s", prefixed("; expected ", e.contained(f)))
	case *kind.MinContains:
		v.Expected, v.Got = fmt.Sprintf("at least %d", k.Want), fmt.Sprint(len(k.Got))
		say("must have at least %d items of the required kind, got %d%s", k.Want, len(k.Got), prefixed("; expected ", e.contained(f)))
	case *kind.MaxContains:
		v.Expected, v.Got = fmt.Sprintf("at most %d", k.Want), fmt.Sprint(len(k.Got))
		say("must have at most %d of the items that match contains, got %d", k.Want, len(k.Got))
	case *kind.OneOf:
		say("matches alternatives %d and %d at once; exactly one must match, so send what tells them apart", k.Subschemas[0]+1, k.Subschemas[1]+1)
	case *kind.Not:
		v.Got = got(value)
		say("must not be %s, got %s", e.forbidden(f), v.Got)
	case *kind.RefCycle:
		say("the schema refers to itself without a step into the value; this tool cannot be called")
	default:
		v.Got = got(value)
		say("does not satisfy %s", v.Keyword)
	}
}

// wordUnion covers alternatives that are all about the value itself.
func (e *explainer) wordUnion(v *Violation, f finding, value any) {
	var types []string
	var values []any
	for _, l := range f.union {
		switch k := l.ErrorKind.(type) {
		case *kind.Type:
			for _, t := range k.Want {
				if !slices.Contains(types, t) {
					types = append(types, t)
				}
			}
		case *kind.Enum:
			values = append(values, k.Want...)
		case *kind.Const:
			values = append(values, k.Want)
		}
	}
	if len(values) == 0 {
		v.Keyword, v.Expected, v.Got = "type", strings.Join(types, " or "), got(value)
		v.Message = fmt.Sprintf("expected %s, got %s%s", v.Expected, v.Got, insideString(value, types))
		return
	}
	wordEnum(v, values, value)
	v.Keyword = "enum"
	if len(types) > 0 {
		v.Expected = strings.Join(types, " or ") + ", or one of the listed values"
		v.Message += ", or of type " + strings.Join(types, " or ")
	}
}

func wordEnum(v *Violation, want []any, value any) {
	all := make([]string, 0, len(want))
	for _, w := range showAll(want) {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	v.Got = got(value)
	v.Closest = nearestValue(value, want)
	shown, rest := cutList(all)
	v.Allowed = shown
	if len(all) == 1 {
		v.Expected = all[0]
		v.Message = fmt.Sprintf("must be %s, got %s", all[0], v.Got)
		return
	}
	v.Message = fmt.Sprintf("must be one of %s%s, got %s", strings.Join(shown, ", "), rest, v.Got)
}

// wordUnknown covers a member that no schema here knows.
func (e *explainer) wordUnknown(v *Violation, f finding, parent any) {
	obj, _ := parent.(map[string]any)
	declared, free := e.declared(f.err, obj)
	shown, rest := cutList(declared)
	for i := range shown {
		shown[i] = oneLine(shown[i])
	}
	v.Allowed = shown
	v.Closest = closest.Name(f.name, free)
	v.Message = "unknown field"
	switch {
	case len(shown) > 0:
		v.Message += "; the fields here are " + strings.Join(shown, ", ") + rest
	default:
		v.Message += "; no fields are accepted here"
	}
}

// declared lists the names that may stand beside the failure, in the order of
// the schema, and those of them that are not sent yet.
func (e *explainer) declared(err *jsonschema.ValidationError, obj map[string]any) (all, free []string) {
	var names map[string]bool
	if e.graph != nil {
		if s := e.graph.byLocation[err.SchemaURL]; s != nil && len(s.Properties) > 0 {
			names = map[string]bool{}
			for n := range s.Properties {
				names[n] = true
			}
		}
	}
	if names == nil { // the schema itself lists none: take what any schema declares in this place
		p := e.place
		for i, t := range err.InstanceLocation {
			if v, _ := at(e.root, err.InstanceLocation[:i]); typeName(v) == "array" {
				p = p.element()
			} else {
				p = p.member(t)
			}
		}
		names = map[string]bool{}
		if p != nil {
			for n := range p.names {
				names[n] = true
			}
		}
	}
	all = e.graph.inOrder(sortedKeys(names))
	for _, n := range all {
		if _, sent := obj[n]; !sent {
			free = append(free, n)
		}
	}
	return all, free
}

// cutList keeps what fits into maxAllowed bytes and names the rest.
func cutList(all []string) (shown []string, rest string) {
	size := 0
	for i, s := range all {
		if size += len(s) + 2; size > maxAllowed {
			return slices.Clone(all[:i]), fmt.Sprintf(" and %d more", len(all)-i)
		}
	}
	return slices.Clone(all), ""
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// insideString tells a frequent slip: the value is right, but wrapped in a string.
func insideString(value any, want []string) string {
	s, ok := value.(string)
	if !ok || len(s) > MaxSchemaBytes {
		return ""
	}
	inner, err := read([]byte(s), reading{maxBytes: MaxSchemaBytes, keep: true})
	if err != nil {
		return ""
	}
	t := typeName(inner)
	if slices.Contains(want, t) || t == "integer" && slices.Contains(want, "number") {
		return "; the string holds the " + t + " as text: send the " + t + " itself, without quotes"
	}
	return ""
}

// describe says what the schema at a failure wants of its member name.
func (e *explainer) describe(f finding, name string) string {
	if e.graph == nil {
		return ""
	}
	s := e.graph.byLocation[f.err.SchemaURL]
	if s == nil || s.Properties[name] == nil {
		return ""
	}
	return summary(s.Properties[name], 0)
}

// contained says what the schema under contains wants.
func (e *explainer) contained(f finding) string {
	if e.graph == nil {
		return ""
	}
	if s := e.graph.byLocation[f.err.SchemaURL]; s != nil && s.Contains != nil {
		return summary(s.Contains, 0)
	}
	return ""
}

func (e *explainer) forbidden(f finding) string {
	if e.graph != nil {
		if s := e.graph.byLocation[f.err.SchemaURL]; s != nil && s.Not != nil {
			if text := summary(s.Not, 0); text != "" {
				return text
			}
		}
	}
	return "what the schema under not describes"
}

// summary is a schema in a few words, "" if there are none for it.
func summary(s *jsonschema.Schema, depth int) string {
	switch {
	case depth > 4:
		return ""
	case s.Const != nil:
		return show(*s.Const)
	case s.Enum != nil && len(s.Enum.Values) > 0:
		all := showAll(s.Enum.Values[:min(len(s.Enum.Values), 12)])
		if len(s.Enum.Values) > 12 {
			all = append(all, "…")
		}
		return "one of " + strings.Join(all, ", ")
	case s.Types != nil:
		return strings.Join(s.Types.ToStrings(), " or ")
	case s.Ref != nil:
		return summary(s.Ref, depth+1)
	}
	var parts []string
	for _, sub := range slices.Concat(s.AnyOf, s.OneOf) {
		p := summary(sub, depth+1)
		if p == "" {
			return ""
		}
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return clip(strings.Join(parts, " or "), 2*maxShown)
}

// nearestValue is the allowed value that was most likely meant, as JSON.
func nearestValue(value any, want []any) string {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case json.Number:
		text = string(v)
	case bool:
		text = fmt.Sprint(v)
	default:
		return ""
	}
	var names []string
	byName := map[string]any{}
	for _, w := range want {
		var n string
		switch w := w.(type) {
		case string:
			n = w
		case json.Number, bool:
			n = fmt.Sprint(w)
		default:
			continue
		}
		if _, ok := byName[n]; !ok {
			names, byName[n] = append(names, n), w
		}
	}
	if n := closest.Name(text, names); n != "" {
		return show(byName[n])
	}
	if w, ok := byName[text]; ok {
		return show(w)
	}
	return ""
}
