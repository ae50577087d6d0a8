package schema

import (
	"encoding/json"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/pb33f/jsonschema/v6"
)

// The kinds of JSON values, as bits.
const (
	isNull uint8 = 1 << iota
	isBool
	isNumber
	isString
	isArray
	isObject
	isAny = isNull | isBool | isNumber | isString | isArray | isObject
)

// A node is one subschema compiled for Check. The zero node, with kinds set to
// isAny, accepts everything.
type node struct {
	kinds  uint8 // that the type keyword admits
	unsure uint8 // that only the engine can judge
	own    bool  // the node says anything besides kinds and more

	numeric bool // one of the next four is set
	integer bool
	min     *bound
	max     *bound
	factor  *decimal // multipleOf

	textual        bool // lengths, patterns or an enum
	minLen, maxLen int  // in code points; maxLen -1: none
	patterns       []textPattern

	enums []enum

	props              []prop // in the order of the schema's text
	index              map[string]int
	required           [maxProps / 64]uint64
	byPattern          []patternProp
	closed             bool  // no other members
	others             *node // schema of other members
	names              *node // schema of member names
	minProps, maxProps int   // maxProps -1: none
	home               *place

	prefix             []*node
	items              *node // of the items after prefix
	full               bool  // no items after prefix
	minItems, maxItems int   // maxItems -1: none
	unique             bool

	more *combination
}

// maxProps is how many declared names of one object Check can keep track of.
const maxProps = 256

type prop struct {
	name  string
	n     *node  // nil for a name that is only required
	place *place // under the node's home
}

type patternProp struct {
	name textPattern
	n    *node
}

// combination is what a schema applies to the same value besides itself.
type combination struct {
	all, any, one  []*node
	not            *node
	cond, yes, nay *node // if, then, else
}

type bound struct {
	at        decimal
	exclusive bool
}

// enum holds the scalars of enum or const.
type enum struct {
	kinds   uint8 // isNull and so on: kinds of which any value is listed
	yes, no bool  // true, false
	texts   []string
	set     map[string]bool // texts, if they are many
	numbers []decimal
}

type textPattern struct {
	run *classRun // a cheaper form of re, if there is one
	re  *regexp.Regexp
}

type builder struct {
	g     *graph
	nodes map[*jsonschema.Schema]*node
	why   []string // what Check leaves to the engine: keyword and place
}

// build compiles s for Check. The second result is empty or says why Check can
// never answer valid.
func build(s *Schema) (*node, []string, string) {
	b := &builder{g: s.graph, nodes: map[*jsonschema.Schema]*node{}}
	root := b.node(s.engine)
	if b.reach(root, map[*node]uint8{}) != 0 {
		return root, b.why, ""
	}
	if len(b.why) > 0 {
		return nil, b.why, b.why[0]
	}
	return nil, nil, "no value is valid"
}

func (b *builder) node(s *jsonschema.Schema) *node {
	if n, ok := b.nodes[s]; ok {
		return n
	}
	if onlyRef(s) {
		n := b.node(s.Ref) // ends: there are no loops in place
		b.nodes[s] = n
		return n
	}
	n := &node{kinds: isAny, maxLen: -1, maxProps: -1, maxItems: -1}
	b.nodes[s] = n
	n.home = b.g.placer.of([]*jsonschema.Schema{s})
	leave := func(kinds uint8, keyword string) {
		n.unsure |= kinds
		b.why = append(b.why, keyword+" at "+rootOr(fragmentPointer(s.Location)))
	}
	if s.Bool != nil {
		if !*s.Bool {
			n.kinds = 0
		}
		return n
	}
	if s.Types != nil {
		n.kinds, n.integer = kindsOf(s.Types)
	}
	if s.Const != nil {
		b.enum(n, []any{*s.Const}, "const", leave)
	}
	if s.Enum != nil {
		b.enum(n, s.Enum.Values, "enum", leave)
	}
	if s.Ref != nil && s.DraftVersion < 2019 {
		// All else beside $ref is ignored, but for const, which the engine still reads.
		n.more = &combination{all: []*node{b.node(s.Ref)}}
		n.finish()
		return n
	}
	b.number(n, s, leave)
	b.text(n, s, leave)
	b.object(n, s, leave)
	b.array(n, s, leave)
	b.combine(n, s, leave)
	if len(s.Extensions) > 0 || s.RecursiveRef != nil || s.DynamicRef != nil {
		leave(isAny, "$dynamicRef")
	}
	n.finish()
	return n
}

// finish derives what lets the scan skip work.
func (n *node) finish() {
	n.numeric = n.integer || n.min != nil || n.max != nil || n.factor != nil || len(n.enums) > 0
	n.textual = n.minLen > 0 || n.maxLen >= 0 || len(n.patterns) > 0 || len(n.enums) > 0
	n.own = n.numeric || n.textual || len(n.props) > 0 || len(n.byPattern) > 0 || n.closed || n.others != nil ||
		n.names != nil || n.minProps > 0 || n.maxProps >= 0 || len(n.prefix) > 0 || n.items != nil || n.full || n.minItems > 0 || n.maxItems >= 0 || n.unique
}

// onlyRef reports whether s is nothing but a reference.
func onlyRef(s *jsonschema.Schema) bool {
	if s.Ref == nil {
		return false
	}
	if s.DraftVersion < 2019 {
		return s.Const == nil
	}
	return s.Types == nil && s.Enum == nil && s.Const == nil && s.RecursiveRef == nil && s.DynamicRef == nil && len(s.Extensions) == 0 &&
		len(inPlace(s)) == 1 && members(s) == nil && len(elements(s)) == 0 && s.PropertyNames == nil &&
		s.AdditionalProperties == nil && s.AdditionalItems == nil && s.Required == nil && s.DependentRequired == nil && s.Dependencies == nil &&
		s.MaxProperties == nil && s.MinProperties == nil && s.MaxItems == nil && s.MinItems == nil && !s.UniqueItems &&
		s.MinLength == nil && s.MaxLength == nil && s.Pattern == nil &&
		s.Maximum == nil && s.Minimum == nil && s.ExclusiveMaximum == nil && s.ExclusiveMinimum == nil && s.MultipleOf == nil
}

func kindsOf(types *jsonschema.Types) (kinds uint8, integer bool) {
	for _, t := range types.ToStrings() {
		switch t {
		case "null":
			kinds |= isNull
		case "boolean":
			kinds |= isBool
		case "number":
			kinds |= isNumber
		case "integer":
			integer = kinds&isNumber == 0 // "number" comes first in the list
			kinds |= isNumber
		case "string":
			kinds |= isString
		case "array":
			kinds |= isArray
		case "object":
			kinds |= isObject
		}
	}
	return kinds, integer
}

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

// reach tells for which kinds of value Check can answer valid under n.
func (b *builder) reach(n *node, known map[*node]uint8) uint8 {
	if m, ok := known[n]; ok {
		return m
	}
	known[n] = n.kinds &^ n.unsure // while a recursion is open
	m := n.kinds &^ n.unsure
	for i, p := range n.props {
		if p.n != nil && n.required[i/64]&(1<<(i%64)) != 0 && b.reach(p.n, known) == 0 {
			m &^= isObject
		}
	}
	if n.minItems > len(n.prefix) && n.items != nil && b.reach(n.items, known) == 0 {
		m &^= isArray
	}
	if c := n.more; c != nil {
		for _, sub := range c.all {
			m &= b.reach(sub, known)
		}
		for _, list := range [][]*node{c.any, c.one} {
			var any uint8
			for _, sub := range list {
				any |= b.reach(sub, known)
			}
			if list != nil {
				m &= any
			}
		}
	}
	known[n] = m
	return m
}

func rootOr(path string) string {
	if path == "" {
		return "(root)"
	}
	return path
}

func patternOf(re jsonschema.Regexp) (textPattern, bool) {
	r, ok := re.(*regexp.Regexp)
	if !ok {
		return textPattern{}, false // it backtracks: only under the engine's clock
	}
	return textPattern{classRunOf(r.String()), r}, true
}

// classRun is ^[class]*$ over ASCII with bounds on the length: most patterns of
// real tools are of this form, and no engine is needed to match it.
type classRun struct {
	ok       [256]bool
	min, max int // max -1: none
}

func classRunOf(expr string) *classRun {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) != 3 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[2].Op != syntax.OpEndText {
		return nil
	}
	c := &classRun{max: -1}
	body := re.Sub[1]
	switch body.Op {
	case syntax.OpPlus:
		c.min = 1
	case syntax.OpStar:
	case syntax.OpRepeat:
		c.min, c.max = body.Min, body.Max
	default:
		return nil
	}
	if len(body.Sub) != 1 || body.Sub[0].Op != syntax.OpCharClass {
		return nil
	}
	set := body.Sub[0].Rune
	for i := 0; i+1 < len(set); i += 2 {
		if set[i+1] > 127 {
			return nil
		}
		for r := set[i]; r <= set[i+1]; r++ {
			c.ok[r] = true
		}
	}
	return c
}

func (c *classRun) match(text []byte) bool {
	if len(text) < c.min || c.max >= 0 && len(text) > c.max {
		return false
	}
	for _, b := range text {
		if !c.ok[b] {
			return false
		}
	}
	return true
}
