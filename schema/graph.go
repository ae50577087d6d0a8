package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/pb33f/jsonschema/v6"
)

// graph is what Compile learns about the engine's compiled schemas, each of
// which points to its parts and to the targets of its references.
type graph struct {
	all        []*jsonschema.Schema
	id         map[*jsonschema.Schema]int
	byLocation map[string]*jsonschema.Schema
	order      map[string]int // member name → its first appearance in the schema text
	dynamic    map[string][]*jsonschema.Schema
	recursive  []*jsonschema.Schema
	weight     []int                     // by id: subschemas that apply to one value, itself included
	effort     []int                     // by id: the engine's steps for one scalar, patterns apart
	demands    []int                     // by id: names that an object may lack
	sizes      map[jsonschema.Regexp]int // instructions of each RE2 pattern
	dear       bool                      // some value could cost much more than its own length
	placer     *placer
}

// survey walks the graph and checks what only it can show: loops in place, and weight.
func survey(roots []*jsonschema.Schema, names []string, sizes map[jsonschema.Regexp]int) (*graph, error) {
	g := &graph{id: map[*jsonschema.Schema]int{}, byLocation: map[string]*jsonschema.Schema{}, order: map[string]int{}, dynamic: map[string][]*jsonschema.Schema{}, sizes: sizes}
	for _, n := range names {
		if _, ok := g.order[n]; !ok {
			g.order[n] = len(g.order)
		}
	}
	add := func(s *jsonschema.Schema) {
		if _, ok := g.id[s]; !ok {
			g.id[s] = len(g.all)
			g.all = append(g.all, s)
		}
	}
	for _, s := range roots {
		add(s)
	}
	for i := 0; i < len(g.all); i++ {
		s := g.all[i]
		g.byLocation[s.Location] = s
		if s.DynamicAnchor != "" {
			g.dynamic[s.DynamicAnchor] = append(g.dynamic[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			g.recursive = append(g.recursive, s)
		}
		for _, sub := range slices.Concat(inPlace(s), members(s), elements(s)) {
			add(sub)
		}
		if s.PropertyNames != nil {
			add(s.PropertyNames)
		}
		if s.ContentSchema != nil {
			add(s.ContentSchema)
		}
	}
	if len(g.all) > MaxSubschemas+len(roots) {
		return nil, &CompileError{"", fmt.Sprintf("the schema has more than %d subschemas: split the tool or share definitions with $ref", MaxSubschemas)}
	}
	g.weight, g.effort, g.demands = make([]int, len(g.all)), make([]int, len(g.all)), make([]int, len(g.all))
	for _, s := range g.all {
		if _, err := g.weigh(s); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// weigh sums in place; -1 marks a schema whose sum is being taken.
func (g *graph) weigh(s *jsonschema.Schema) (int, error) {
	switch w := &g.weight[g.id[s]]; {
	case *w > 0:
		return *w, nil
	case *w < 0:
		return 0, &CompileError{fragmentPointer(s.Location), "the schema refers to itself without a step into the value: it can never be decided; put the reference below properties or items"}
	}
	g.weight[g.id[s]] = -1
	sum, effort := 1, ownEffort(s)
	for _, sub := range inPlace(s) {
		w, err := g.weigh(sub)
		if err != nil {
			return 0, err
		}
		if sum += w; sum > MaxWeight {
			return 0, &CompileError{fragmentPointer(s.Location), fmt.Sprintf("more than %d subschemas apply to one value here (anyOf, oneOf, allOf, $ref multiply): use fewer alternatives", MaxWeight)}
		}
		effort += g.effort[g.id[sub]]
	}
	g.weight[g.id[s]] = sum
	g.effort[g.id[s]] = effort
	g.demands[g.id[s]] = demands(s)
	g.dear = g.dear || effort > 1 || g.demands[g.id[s]] > fewDemands || len(s.PatternProperties) > 0 || g.sizes[s.Pattern] > smallPattern
	return sum, nil
}

// inPlace lists the schemas that s applies to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	add := func(subs ...*jsonschema.Schema) {
		for _, sub := range subs {
			if sub != nil {
				out = append(out, sub)
			}
		}
	}
	add(s.Ref, s.RecursiveRef)
	if s.DynamicRef != nil {
		add(s.DynamicRef.Ref)
	}
	add(s.AllOf...)
	add(s.AnyOf...)
	add(s.OneOf...)
	add(s.Not, s.If, s.Then, s.Else)
	for _, name := range sortedKeys(s.DependentSchemas) {
		add(s.DependentSchemas[name])
	}
	for _, name := range sortedKeys(s.Dependencies) {
		if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			add(sub)
		}
	}
	return out
}

// applied is inPlace with every schema that a dynamic reference may land on.
func (g *graph) applied(s *jsonschema.Schema) []*jsonschema.Schema {
	out := inPlace(s)
	if s.RecursiveRef != nil {
		out = append(out, g.recursive...)
	}
	if s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
		out = append(out, g.dynamic[s.DynamicRef.Anchor]...)
	}
	return out
}

// members lists the schemas that s applies to values of an object.
func members(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, name := range sortedKeys(s.Properties) {
		out = append(out, s.Properties[name])
	}
	return append(out, otherMembers(s)...)
}

// otherMembers lists those that are not tied to a declared name.
func otherMembers(s *jsonschema.Schema) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	for _, p := range sortedPatterns(s) {
		out = append(out, s.PatternProperties[p])
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		out = append(out, sub)
	}
	if s.UnevaluatedProperties != nil {
		out = append(out, s.UnevaluatedProperties)
	}
	return out
}

// elements lists the schemas that s applies to items of an array.
func elements(s *jsonschema.Schema) []*jsonschema.Schema {
	out := slices.Clone(s.PrefixItems)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		out = append(out, items)
	case []*jsonschema.Schema:
		out = append(out, items...)
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		out = append(out, sub)
	}
	for _, sub := range []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems} {
		if sub != nil {
			out = append(out, sub)
		}
	}
	return out
}

func sortedPatterns(s *jsonschema.Schema) []jsonschema.Regexp {
	out := make([]jsonschema.Regexp, 0, len(s.PatternProperties))
	for p := range s.PatternProperties {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b jsonschema.Regexp) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// inOrder sorts names as the schema's author wrote them.
func (g *graph) inOrder(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if g != nil && g.order[a] != g.order[b] {
			return g.order[a] - g.order[b]
		}
		return strings.Compare(a, b)
	})
	return names
}

// dynamicAnchors lists the pointers of objects that carry $dynamicAnchor.
func dynamicAnchors(doc any) []string {
	var out []string
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		switch v := v.(type) {
		case map[string]any:
			if _, ok := v["$dynamicAnchor"].(string); ok && len(path) > 0 {
				out = append(out, (&url.URL{Path: pointer(path)}).EscapedPath())
			}
			for _, k := range sortedKeys(v) {
				walk(v[k], append(slices.Clip(path), k))
			}
		case []any:
			for i, x := range v {
				walk(x, append(slices.Clip(path), fmt.Sprint(i)))
			}
		}
	}
	walk(doc, nil)
	return out
}

// fragmentPointer is the JSON Pointer in the fragment of a schema location.
func fragmentPointer(location string) string {
	_, f, _ := strings.Cut(location, "#")
	if p, err := url.PathUnescape(f); err == nil {
		return p
	}
	return f
}

// split decodes the fragment of a reference into its tokens.
func split(fragment string) []string {
	f, err := url.PathUnescape(fragment)
	if err != nil || f == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(f, "/"), "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}
