package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pb33f/jsonschema/v6"
)

// A Schema is a compiled JSON Schema. It is immutable and safe for concurrent use.
type Schema struct {
	engine   *jsonschema.Schema
	graph    *graph
	patterns *patterns
	root     *place   // the declared names at the root, nil if there are none
	fast     *node    // nil: Check is never sure
	slow     string   // why Check can never be sure, "" if it can
	left     []string // what Check leaves to the engine, keyword and place
}

// base names the schema document for the engine; nothing is ever read from it.
const base = "callgate:///schema"

// Compile reads raw as a JSON Schema, or says in a [*CompileError] why it cannot
// be one.
//
// The dialect is that of $schema, without one 2020-12. The limits: [MaxSchemaBytes],
// [MaxDepth], [MaxSubschemas], [MaxPattern], [MaxWeight]; no reference may leave the
// document, none may lead back to its own place without a step into the value.
// Blank input is an error; true and {} are schemas that accept every value.
func Compile(raw []byte) (*Schema, error) {
	return compile(raw, setup{})
}

// setup is what tests of the engine may loosen; the zero value is what Compile uses.
type setup struct {
	draft     *jsonschema.Draft
	resources map[string]any // further documents by URL; if any, references may leave the document
}

func compile(raw []byte, with setup) (s *Schema, err error) {
	var order []string
	doc, bad := read(raw, reading{maxBytes: MaxSchemaBytes, keep: true, onName: func(n string) { order = append(order, n) }})
	if bad != nil {
		return nil, &CompileError{Path: bad.Path, Message: "the schema is not strict JSON: " + bad.Message}
	}
	if err := inspect(doc, with.resources != nil); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &CompileError{Message: fmt.Sprintf("the schema engine failed on this schema: %v", p)}
		}
	}()
	pats := &patterns{sizes: map[jsonschema.Regexp]int{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if with.draft != nil {
		c.DefaultDraft(with.draft)
	}
	c.UseLoader(denyAll{})
	c.UseRegexpEngine(pats.compile)
	for _, name := range formatNames(doc) {
		// The engine asserts format before 2019-09; here it is an annotation everywhere.
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	for url, other := range with.resources {
		if err := c.AddResource(url, other); err != nil {
			var dup *jsonschema.ResourceExistsError
			if !errors.As(err, &dup) {
				return nil, &CompileError{Message: err.Error()}
			}
		}
	}
	if err := c.AddResource(base, doc); err != nil {
		return nil, &CompileError{Message: err.Error()}
	}
	engine, err := c.Compile(base)
	if err != nil {
		return nil, compileError(err, doc)
	}
	roots := []*jsonschema.Schema{engine}
	for _, ptr := range dynamicAnchors(doc) {
		if a, err := c.Compile(base + "#" + ptr); err == nil {
			roots = append(roots, a) // $dynamicRef reaches it though no keyword leads there
		}
	}
	pats.sealed = true
	g, err := survey(roots, order, pats.sizes)
	if err != nil {
		return nil, err
	}
	s = &Schema{engine: engine, graph: g, patterns: pats}
	if s.root, err = g.places(engine); err != nil {
		return nil, err
	}
	s.fast, s.left, s.slow = build(s)
	g.placer = nil
	return s, nil
}

// AdmitsObject reports whether the root's type leaves an object possible; true
// where that is not said at the root itself.
func (s *Schema) AdmitsObject() bool {
	if s.engine.Bool != nil {
		return *s.engine.Bool
	}
	return s.engine.Types == nil || slices.Contains(s.engine.Types.ToStrings(), "object")
}

// Fast reports whether Check can ever answer valid for this schema, and if not,
// which keyword at which place of the schema prevents it.
func (s *Schema) Fast() (bool, string) { return s.slow == "", s.slow }

// Validate is the full answer. A nil error and no violations: data is strict JSON
// and valid. A [*SyntaxError]: the gate refused the bytes. Any other error means
// that the engine failed, and is no verdict: treat it as a refusal.
//
// It costs what Check costs when Check is sure, else what Explain costs.
func (s *Schema) Validate(data []byte) (Violations, error) {
	if s.Check(data) {
		return nil, nil
	}
	return s.Explain(data)
}

// Explain is Validate without the fast tier: always the gate and the engine.
func (s *Schema) Explain(data []byte) (found Violations, err error) {
	v, bad := read(data, reading{maxBytes: MaxBytes, keep: true, place: s.root})
	if bad != nil {
		return nil, bad
	}
	if !s.graph.affordable(s.engine, v) {
		return Violations{{Keyword: "limit", Message: fmt.Sprintf("checking this value against its schema would take more than %d steps; send a smaller or flatter value", maxSteps)}}, nil
	}
	defer func() {
		if p := recover(); p != nil {
			found, err = nil, fmt.Errorf("schema: the engine failed on a value of %d bytes: %v", len(data), p)
		}
	}()
	done := s.patterns.begin()
	defer done()
	var failed *jsonschema.ValidationError
	switch err := s.engine.Validate(v); {
	case err == nil && s.patterns.gaveUp:
		return Violations{{Keyword: "limit", Message: fmt.Sprintf("a pattern of the schema could not be decided on this value within %v and %d bytes a text; send shorter names and texts", backtrackTotal, backtrackBytes)}}, nil
	case err == nil:
		return nil, nil
	case errors.As(err, &failed):
		return explain(s.graph, s.root, v, failed), nil
	default:
		return nil, fmt.Errorf("schema: the engine failed on a value of %d bytes: %w", len(data), err)
	}
}
