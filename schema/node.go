package schema

import (
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

// A node is one subschema compiled for Check. With kinds isAny, the maxima -1 and
// all else zero it accepts everything.
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
