package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/pb33f/jsonschema/v6"
	"github.com/pb33f/jsonschema/v6/kind"
)

// explain turns the engine's tree of failures about value into violations.
//
// graph and root are nil for a schema that failed its metaschema.
func explain(g *graph, root *place, value any, failed *jsonschema.ValidationError) Violations {
	e := explainer{graph: g, place: root, root: value}
	e.walk(failed, "")
	return e.settle()
}

// explainer first collects what failed where, then orders it, and words only
// what will be shown: a value can have a hundred thousand faults.
type explainer struct {
	graph *graph
	place *place
	root  any
	found []finding
	cut   int // findings that will not be shown, dropped early
}

// Of a hundred thousand findings only the first in order are kept.
const (
	sortAfter = 8192
	keepFirst = 1024
)

// A finding is one failure of one keyword at one path.
type finding struct {
	loc    []string // where in the value
	path   string
	branch string // " (closest of 3 alternatives …)"
	err    *jsonschema.ValidationError
	name   string                        // the member at fault, if the keyword is about one
	union  []*jsonschema.ValidationError // all that failed here, if every alternative was about this very value
}

func (e *explainer) add(f finding) {
	f.path = clip(pointer(f.loc), maxPath)
	if e.found = append(e.found, f); len(e.found) > sortAfter {
		slices.SortStableFunc(e.found, order)
		e.cut += len(e.found) - keepFirst
		clear(e.found[keepFirst:])
		e.found = e.found[:keepFirst]
	}
}

// order is by path, then by where in the schema; it does not depend on the order
// in which the engine met the failures.
func order(a, b finding) int {
	if c := strings.Compare(a.path, b.path); c != 0 {
		return c
	}
	if c := strings.Compare(a.err.SchemaURL, b.err.SchemaURL); c != 0 {
		return c
	}
	if c := strings.Compare(keyword(a.err), keyword(b.err)); c != 0 {
		return c
	}
	return strings.Compare(a.name+a.branch, b.name+b.branch)
}

// settle orders, words, removes repetitions and cuts.
func (e *explainer) settle() Violations {
	slices.SortStableFunc(e.found, order)
	var out Violations
	size := 0
	for i, f := range e.found {
		if i > 0 && f.path == e.found[i-1].path && f.err.SchemaURL == e.found[i-1].err.SchemaURL && keyword(f.err) == keyword(e.found[i-1].err) && f.name == e.found[i-1].name {
			continue
		}
		v := e.word(f)
		if slices.ContainsFunc(out, func(w Violation) bool {
			return w.Path == v.Path && w.Keyword == v.Keyword && w.Message == v.Message
		}) {
			continue
		}
		size += len(v.Path) + len(v.Keyword) + len(v.Message) + len(v.Expected) + len(v.Got) + len(v.Closest)
		for _, a := range v.Allowed {
			size += len(a)
		}
		if len(out) == MaxViolations || size > MaxViolationBytes && len(out) > 0 {
			return append(out, Violation{Keyword: "more", Message: fmt.Sprintf("%d more violations are not shown: correct these first", len(e.found)-i+e.cut)})
		}
		out = append(out, v)
	}
	return out
}

// walk collects the failures below err; branch says which alternative it is in.
func (e *explainer) walk(err *jsonschema.ValidationError, branch string) {
	leaves(err, func(l *jsonschema.ValidationError) { e.leaf(l, branch) })
}

// leaves drops the wrappers: references, groups and allOf add nothing to where a fault is.
func leaves(err *jsonschema.ValidationError, f func(*jsonschema.ValidationError)) {
	switch err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, c := range err.Causes {
			leaves(c, f)
		}
	default:
		f(err)
	}
}

func (e *explainer) leaf(err *jsonschema.ValidationError, branch string) {
	f := finding{loc: err.InstanceLocation, branch: branch, err: err}
	each := func(names []string) {
		for _, n := range names {
			e.add(finding{loc: append(slices.Clip(err.InstanceLocation), n), branch: branch, err: err, name: n})
		}
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		each(k.Missing)
	case *kind.DependentRequired:
		each(k.Missing)
	case *kind.Dependency:
		each(k.Missing)
	case *kind.AdditionalProperties:
		each(k.Properties)
	case *kind.PropertyNames:
		each([]string{k.Property})
	case *kind.AnyOf:
		e.alternatives(f)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			e.add(f)
			return
		}
		e.alternatives(f)
	default:
		e.add(f)
	}
}

// alternatives explains a value that no branch of anyOf or oneOf took.
func (e *explainer) alternatives(f finding) {
	depth := len(f.err.InstanceLocation)
	var here []*jsonschema.ValidationError // the failures about this very value
	plain := true                          // no branch was failed only further in
	best, at := 0, -1
	for i, branch := range f.err.Causes {
		about := false
		leaves(branch, func(l *jsonschema.ValidationError) {
			switch l.ErrorKind.(type) {
			case *kind.Type, *kind.Const, *kind.Enum:
				if len(l.InstanceLocation) == depth {
					about = true
					here = append(here, l)
				}
			}
		})
		plain = plain && about
		if s := distance(branch, depth); at < 0 || s < best {
			best, at = s, i
		}
	}
	switch {
	case at < 0:
		e.add(f)
	case plain: // string or null, "a" or "b": one sentence over all branches
		f.union = here
		e.add(f)
	default:
		branch := f.branch
		if branch == "" {
			branch = fmt.Sprintf(" (read as alternative %d of %d, the closest)", at+1, len(f.err.Causes))
		}
		e.walk(f.err.Causes[at], branch)
	}
}

// distance says how far a value is from a branch that failed: a wrong type at
// the top, or a wrong constant just below it (a discriminator), means that the
// branch was not meant; faults further in mean that it was.
func distance(branch *jsonschema.ValidationError, depth int) int {
	sum := 0
	leaves(branch, func(l *jsonschema.ValidationError) {
		deeper := len(l.InstanceLocation) - depth
		switch k := l.ErrorKind.(type) {
		case *kind.Type:
			if deeper == 0 {
				sum += 1000
			} else {
				sum += 10
			}
		case *kind.FalseSchema:
			sum += 15
		case *kind.Const, *kind.Enum:
			if deeper <= 1 {
				sum += 200
			} else {
				sum += 10
			}
		case *kind.Required:
			sum += 20 * len(k.Missing)
		case *kind.AdditionalProperties:
			sum += 15 * len(k.Properties)
		case *kind.AnyOf, *kind.OneOf:
			least := 1000
			for _, c := range l.Causes {
				least = min(least, distance(c, depth))
			}
			sum += max(5, least)
		default:
			sum += 5
		}
	})
	return sum
}

// keyword names what failed; a false schema is named by where it stands.
func keyword(err *jsonschema.ValidationError) string {
	switch err.ErrorKind.(type) {
	case *kind.FalseSchema:
		p := fragmentPointer(err.SchemaURL)
		if k := p[strings.LastIndexByte(p, '/')+1:]; k == "unevaluatedProperties" || k == "unevaluatedItems" || k == "additionalItems" || k == "items" {
			return k
		}
		return "false"
	case *kind.Not:
		return "not"
	case *kind.RefCycle:
		return "$ref"
	case *kind.Dependency:
		return "dependencies"
	case nil:
		return "schema"
	}
	if p := err.ErrorKind.KeywordPath(); len(p) > 0 {
		return p[0]
	}
	return "schema"
}

// at finds the value at loc.
func at(v any, loc []string) (any, bool) {
	for _, t := range loc {
		switch x := v.(type) {
		case map[string]any:
			y, ok := x[t]
			if !ok {
				return nil, false
			}
			v = y
		case []any:
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// typeName names the JSON type of v as a schema would.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if r, ok := new(big.Rat).SetString(string(v)); ok && r.IsInt() {
			return "integer"
		}
	}
	return "number"
}

// got names a value that was sent: its type and, for a scalar, its text.
func got(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		return fmt.Sprintf("array of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("object of %d", len(v))
	}
	return typeName(v) + " " + show(v)
}

// show is v as JSON, cut.
func show(v any) string {
	if s, ok := v.(string); ok && len(s) > maxShown {
		v = clip(s, maxShown)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return typeName(v)
	}
	return oneLine(clip(strings.TrimSuffix(b.String(), "\n"), maxShown+16))
}

func showAll(vs []any) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = show(v)
	}
	return out
}

// number writes a bound exactly, in plain decimals.
func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), MaxNumber)
	}
	digits, exact := r.FloatPrec()
	if !exact || digits > MaxNumber {
		return clip(r.RatString(), MaxNumber)
	}
	return r.FloatString(digits)
}
