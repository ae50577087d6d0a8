package schema

import (
	"encoding/json"
	"math/big"
	"slices"

	"github.com/pb33f/jsonschema/v6"
)

type leaver = func(kinds uint8, keyword string)

func (b *builder) enum(n *node, values []any, keyword string, leave leaver) {
	var e enum
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			e.kinds |= isNull
		case bool:
			e.kinds |= isBool
			e.yes, e.no = e.yes || v, e.no || !v
		case string:
			e.kinds |= isString
			e.texts = append(e.texts, v)
		case json.Number:
			e.kinds |= isNumber
			r, ok := new(big.Rat).SetString(string(v))
			d, fits := decimalOf(r)
			if !ok || !fits {
				leave(isNumber, keyword)
			}
			e.numbers = append(e.numbers, d)
		case []any:
			e.kinds |= isArray
			leave(isArray, keyword)
		case map[string]any:
			e.kinds |= isObject
			leave(isObject, keyword)
		}
	}
	if len(e.texts) > 8 {
		e.set = map[string]bool{}
		for _, t := range e.texts {
			e.set[t] = true
		}
	}
	n.enums = append(n.enums, e)
}

func (b *builder) number(n *node, s *jsonschema.Schema, leave leaver) {
	limit := func(old *bound, r *big.Rat, exclusive bool, tighter int, keyword string) *bound {
		if r == nil {
			return old
		}
		d, ok := decimalOf(r)
		if !ok {
			leave(isNumber, keyword)
			return old
		}
		if old != nil {
			if c := d.cmp(old.at); c == -tighter || c == 0 && !exclusive {
				return old
			}
		}
		return &bound{d, exclusive}
	}
	n.min = limit(n.min, s.Minimum, false, 1, "minimum")
	n.min = limit(n.min, s.ExclusiveMinimum, true, 1, "exclusiveMinimum")
	n.max = limit(n.max, s.Maximum, false, -1, "maximum")
	n.max = limit(n.max, s.ExclusiveMaximum, true, -1, "exclusiveMaximum")
	if s.MultipleOf != nil {
		if d, ok := decimalOf(s.MultipleOf); ok && d.m > 0 {
			n.factor = &d
		} else {
			leave(isNumber, "multipleOf")
		}
	}
}

func (b *builder) text(n *node, s *jsonschema.Schema, leave leaver) {
	if s.MinLength != nil {
		n.minLen = *s.MinLength
	}
	if s.MaxLength != nil {
		if n.maxLen = *s.MaxLength; n.maxLen < 0 { // a number beyond int, misread by the engine
			leave(isString, "maxLength")
		}
	}
	if s.Pattern != nil {
		if p, ok := patternOf(s.Pattern); ok {
			n.patterns = append(n.patterns, p)
		} else {
			leave(isString, "pattern")
		}
	}
}

func (b *builder) object(n *node, s *jsonschema.Schema, leave leaver) {
	if len(s.Dependencies) > 0 {
		leave(isObject, "dependencies")
	}
	if len(s.DependentRequired) > 0 {
		leave(isObject, "dependentRequired")
	}
	if len(s.DependentSchemas) > 0 {
		leave(isObject, "dependentSchemas")
	}
	if s.MinProperties != nil {
		n.minProps = *s.MinProperties
	}
	if s.MaxProperties != nil {
		if n.maxProps = *s.MaxProperties; n.maxProps < 0 {
			leave(isObject, "maxProperties")
		}
	}
	if n.home != nil && n.home.twins {
		leave(isObject, "properties that differ only by case")
	}
	names := sortedKeys(s.Properties)
	for _, r := range s.Required {
		if s.Properties[r] == nil && !slices.Contains(names, r) {
			names = append(names, r)
		}
	}
	if len(names) > maxProps {
		leave(isObject, "properties")
		names = nil
	}
	if len(names) > 0 {
		n.index = make(map[string]int, len(names))
	}
	for i, name := range b.g.inOrder(names) {
		p := prop{name: name}
		if sub := s.Properties[name]; sub != nil {
			p.n = b.node(sub)
			p.place = n.home.member(name)
		}
		n.props = append(n.props, p)
		n.index[name] = i
		if slices.Contains(s.Required, name) {
			n.required[i/64] |= 1 << (i % 64)
		}
	}
	for _, p := range sortedPatterns(s) {
		if tp, ok := patternOf(p); ok {
			n.byPattern = append(n.byPattern, patternProp{tp, b.node(s.PatternProperties[p])})
		} else {
			leave(isObject, "patternProperties")
		}
	}
	switch a := s.AdditionalProperties.(type) {
	case bool:
		n.closed = !a
	case *jsonschema.Schema:
		n.others = b.node(a)
	}
	if s.UnevaluatedProperties != nil {
		if s.AdditionalProperties == nil && len(inPlace(s)) == 0 {
			n.others = b.node(s.UnevaluatedProperties) // with nothing beside it, the same thing
		} else {
			leave(isObject, "unevaluatedProperties")
		}
	}
	if n.others != nil && n.others.kinds == 0 {
		n.others, n.closed = nil, true
	}
	if s.PropertyNames != nil {
		n.names = b.node(s.PropertyNames)
	}
}

func (b *builder) array(n *node, s *jsonschema.Schema, leave leaver) {
	if s.Contains != nil {
		leave(isArray, "contains")
	}
	if s.UnevaluatedItems != nil {
		leave(isArray, "unevaluatedItems")
	}
	if s.MinItems != nil {
		n.minItems = *s.MinItems
	}
	if s.MaxItems != nil {
		if n.maxItems = *s.MaxItems; n.maxItems < 0 {
			leave(isArray, "maxItems")
		}
	}
	n.unique = s.UniqueItems
	prefix := s.PrefixItems
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.items = b.node(items)
	case []*jsonschema.Schema:
		prefix = items
	}
	for _, p := range prefix {
		n.prefix = append(n.prefix, b.node(p))
	}
	switch a := s.AdditionalItems.(type) {
	case bool:
		n.full = !a
	case *jsonschema.Schema:
		n.items = b.node(a)
	}
	if s.Items2020 != nil {
		n.items = b.node(s.Items2020)
	}
}

func (b *builder) combine(n *node, s *jsonschema.Schema, leave leaver) {
	var c combination
	nodes := func(subs []*jsonschema.Schema) (out []*node) {
		for _, sub := range subs {
			out = append(out, b.node(sub))
		}
		return out
	}
	c.all, c.any, c.one = nodes(s.AllOf), nodes(s.AnyOf), nodes(s.OneOf)
	one := func(sub *jsonschema.Schema) *node {
		if sub == nil {
			return nil
		}
		return b.node(sub)
	}
	if s.Ref != nil {
		c.all = append(c.all, b.node(s.Ref))
	}
	c.not, c.cond, c.yes, c.nay = one(s.Not), one(s.If), one(s.Then), one(s.Else)
	if c.all != nil || c.any != nil || c.one != nil || c.not != nil || c.cond != nil {
		n.more = &c
	}
}
