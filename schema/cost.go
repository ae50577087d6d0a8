package schema

import (
	"reflect"

	"github.com/pb33f/jsonschema/v6"
)

// maxSteps bounds the engine's work on one value, in steps of about a quarter of
// a microsecond: one schema applied to one part of the value, two entries of an
// enum, or 32 bytes under one instruction of a pattern.
const (
	maxSteps     = 1 << 22
	entriesAStep = 2
	patternShift = 5  // bytes × instructions >> patternShift is steps
	smallPattern = 64 // instructions; below, MaxBytes of text are affordable
	fewDemands   = 8  // names; what MaxBytes of empty objects lack of so few is affordable
)

// ownEffort is what s alone costs on a scalar.
func ownEffort(s *jsonschema.Schema) int {
	n := 1
	if s.Enum != nil {
		n += len(s.Enum.Values) / entriesAStep
	}
	return n
}

// demands is what the names that s requires may cost on an object: each that is
// missing is looked up, listed and worded.
func demands(s *jsonschema.Schema) int {
	n := len(s.Required) + len(s.DependentRequired) + len(s.Dependencies)
	for _, names := range s.DependentRequired {
		n += len(names)
	}
	for _, d := range s.Dependencies {
		if names, ok := d.([]string); ok {
			n += len(names)
		}
	}
	return n
}

// affordable reports whether the engine would stay below maxSteps. MaxWeight
// bounds one place; but alternatives that each descend into the same member
// double the work at every level of a recursive value, 2^64 at MaxDepth. And a
// thousand-step pattern takes half a minute over a megabyte. The engine cannot be
// interrupted, so its steps are counted first, each pair of schema and container
// once.
func (g *graph) affordable(s *jsonschema.Schema, v any) bool {
	if !g.dear {
		return true // every part of the value is visited about once
	}
	c := costing{g: g, known: map[visit]int{}}
	n := c.cost(s, v)
	return c.work <= maxSteps && n <= maxSteps
}

type visit struct {
	s  *jsonschema.Schema
	at uintptr
}

type costing struct {
	g     *graph
	known map[visit]int
	work  int // bounds the counting itself
}

func (c *costing) cost(s *jsonschema.Schema, v any) int {
	c.work++
	var at uintptr
	switch v := v.(type) {
	case map[string]any:
		at = reflect.ValueOf(v).Pointer()
	case []any:
		if len(v) > 0 {
			at = reflect.ValueOf(v).Pointer()
		}
	case string:
		return c.text(s, v, 0)
	}
	if at == 0 {
		return c.g.effort[c.g.id[s]]
	}
	key := visit{s, at}
	if n, ok := c.known[key]; ok {
		return n
	}
	c.known[key] = 1 // a dynamic reference may come back in place
	n := ownEffort(s)
	add := func(sub *jsonschema.Schema, v any) bool {
		n += c.cost(sub, v)
		return c.work <= maxSteps && n <= maxSteps
	}
	c.parts(s, v, add, &n)
	c.known[key] = n
	return n
}

// parts adds what s applies to v itself and to the parts of v.
func (c *costing) parts(s *jsonschema.Schema, v any, add func(*jsonschema.Schema, any) bool, n *int) {
	for _, sub := range c.g.applied(s) {
		if !add(sub, v) {
			return
		}
	}
	switch v := v.(type) {
	case map[string]any:
		*n += c.g.demands[c.g.id[s]]
		if *n > maxSteps {
			return
		}
		other := otherMembers(s)
		for name, m := range v {
			for re := range s.PatternProperties {
				*n += 1 + len(name)*c.g.sizes[re]>>patternShift
			}
			if s.PropertyNames != nil && !add(s.PropertyNames, name) {
				return
			}
			if sub := s.Properties[name]; sub != nil && !add(sub, m) {
				return
			}
			for _, sub := range other {
				if !add(sub, m) {
					return
				}
			}
		}
	case []any:
		for _, sub := range elements(s) {
			for _, m := range v {
				if !add(sub, m) {
					return
				}
			}
		}
	}
}

// text is cost for a string: here the patterns count. Only dynamic references
// can make the chain of schemas longer than the heaviest place allows.
func (c *costing) text(s *jsonschema.Schema, v string, depth int) int {
	n := ownEffort(s) + len(v)*c.g.sizes[s.Pattern]>>patternShift
	for _, sub := range c.g.applied(s) {
		if c.work++; c.work > maxSteps || depth > MaxWeight {
			break
		}
		n += c.text(sub, v, depth+1)
	}
	return n
}
