package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pb33f/jsonschema/v6"
)

// Limits of a schema, checked by [Compile].
const (
	MaxSchemaBytes = 256 << 10 // bytes of one schema
	MaxSubschemas  = 2000      // schemas within a schema, itself included
	MaxPattern     = 1 << 10   // bytes of one pattern
	// MaxWeight bounds how many subschemas may apply to one and the same value:
	// the sum over $ref, anyOf, oneOf, allOf, not, if and dependent schemas. A
	// ladder of 26 two-way steps would otherwise be 2^26 evaluations per value.
	MaxWeight = 4096
)

// A CompileError says why a schema was refused.
type CompileError struct {
	Path    string // JSON Pointer (RFC 6901) into the schema, "" for its root
	Message string // what is wrong there and what to do
}

func (e *CompileError) Error() string {
	at := "(root)"
	if e.Path != "" {
		at = oneLine(clip(e.Path, maxPath))
	}
	return "schema: " + at + ": " + e.Message
}

// denyAll is the engine's loader: nothing is ever fetched or read.
type denyAll struct{}

func (denyAll) Load(url string) (any, error) {
	return nil, fmt.Errorf("%q is another document", url)
}

var dialects = []string{
	"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
	"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-04/schema#",
}

func knownDialect(url string) bool {
	url, _ = strings.CutSuffix(url, "#")
	_, url, _ = strings.Cut(url, "://")
	return url == "json-schema.org/schema" || slices.ContainsFunc(dialects, func(d string) bool {
		_, d, _ = strings.Cut(strings.TrimSuffix(d, "#"), "://")
		return d == url
	})
}

// Where a schema has schemas: as the value, in a list, in a map.
var (
	schemaKeys = keySet("additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties")
	listKeys   = keySet("allOf anyOf oneOf prefixItems items")
	mapKeys    = keySet("$defs definitions dependencies dependentSchemas patternProperties properties")
	refKeys    = keySet("$ref $dynamicRef $recursiveRef")
)

func keySet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// inspect checks what must hold before the engine sees the document: its cost
// grows with the square of the subschemas, and its words on a foreign reference
// would not say where it stands.
func inspect(doc any, foreign bool) error {
	if n := objects(doc); n > maxObjects {
		return &CompileError{"", fmt.Sprintf("the schema has %d objects; at most %d are accepted: split the tool or share definitions with $ref", n, maxObjects)}
	}
	in := inspection{doc: doc, foreign: foreign, plain: !hasID(doc)}
	return in.schema(doc, nil)
}

// maxObjects bounds what a reference may turn into schemas, wherever it stands:
// below an unknown keyword, or in a default. A schema and its map of properties
// are two objects.
const maxObjects = 3 * MaxSubschemas

// objects counts all that could be a subschema: objects, and booleans in lists.
func objects(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = 1
		for _, x := range v {
			n += objects(x)
		}
	case []any:
		for _, x := range v {
			if _, ok := x.(bool); ok {
				n++
			}
			n += objects(x)
		}
	}
	return n
}

type inspection struct {
	doc     any
	foreign bool
	plain   bool // no embedded resources: "#/…" starts at the root of the document
	count   int
}

func (in *inspection) schema(v any, path []string) error {
	in.count++
	if in.count > MaxSubschemas {
		return &CompileError{pointer(path), fmt.Sprintf("the schema has more than %d subschemas: split the tool or share definitions with $ref", MaxSubschemas)}
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil // a boolean, or an error that the metaschema will name
	}
	for _, k := range sortedKeys(obj) {
		v := obj[k]
		at := func(more ...string) []string { return append(append(slices.Clip(path), k), more...) }
		text, isText := v.(string)
		switch {
		case k == "$schema" && isText && !in.foreign && !knownDialect(text):
			return &CompileError{pointer(at()), fmt.Sprintf("unknown dialect %s: use one of %s, or leave $schema out for 2020-12", quote(text), strings.Join(dialects, ", "))}
		case refKeys[k] && isText:
			if err := in.ref(text, at()); err != nil {
				return err
			}
		case k == "pattern" && isText && len(text) > MaxPattern:
			return &CompileError{pointer(at()), fmt.Sprintf("the pattern has %d bytes; at most %d are accepted", len(text), MaxPattern)}
		}
		if k == "patternProperties" {
			if m, ok := v.(map[string]any); ok {
				for _, p := range sortedKeys(m) {
					if len(p) > MaxPattern {
						return &CompileError{pointer(at()), fmt.Sprintf("a pattern has %d bytes; at most %d are accepted", len(p), MaxPattern)}
					}
				}
			}
		}
		switch sub := v.(type) {
		case []any:
			if listKeys[k] {
				for i, x := range sub {
					if err := in.schema(x, at(strconv.Itoa(i))); err != nil {
						return err
					}
				}
			}
		case map[string]any:
			if mapKeys[k] {
				for _, name := range sortedKeys(sub) {
					if _, names := sub[name].([]any); names {
						continue // dependencies: a list of names
					}
					if err := in.schema(sub[name], at(name)); err != nil {
						return err
					}
				}
			} else if schemaKeys[k] {
				if err := in.schema(sub, at()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (in *inspection) ref(ref string, path []string) error {
	if in.foreign {
		return nil
	}
	in.count++ // its target may stand where no other schema is counted
	if !strings.HasPrefix(ref, "#") {
		return &CompileError{pointer(path), fmt.Sprintf("the reference %s leaves the schema: only references that begin with # are followed, nothing is fetched; copy the target into $defs", quote(ref))}
	}
	if in.plain && (ref == "#" || strings.HasPrefix(ref, "#/")) {
		if _, ok := lookup(in.doc, ref[1:]); !ok {
			return &CompileError{pointer(path), fmt.Sprintf("the reference %s points to nothing in this schema", quote(ref))}
		}
	}
	return nil
}

// hasID reports whether any object below the root starts a resource of its own.
func hasID(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"$id", "id"} {
			if _, ok := v[k].(string); ok {
				return true
			}
		}
		for _, x := range v {
			if hasID(x) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasID)
	}
	return false
}

// lookup resolves the fragment of a reference: a JSON Pointer, percent-encoded.
func lookup(v any, fragment string) (any, bool) { return at(v, split(fragment)) }

// formatNames lists each format that is named anywhere in doc.
func formatNames(doc any) []string {
	found := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if f, ok := v["format"].(string); ok {
				found[f] = true
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(doc)
	return sortedKeys(found)
}

// compileError turns the engine's refusal into ours.
func compileError(err error, doc any) error {
	var meta *jsonschema.SchemaValidationError
	if errors.As(err, &meta) {
		var failed *jsonschema.ValidationError
		if errors.As(meta.Err, &failed) {
			_, where, _ := strings.Cut(meta.URL, "#") // the root, or what a reference met below an unknown keyword
			if sub, ok := lookup(doc, where); ok {
				doc = sub
			}
			if vs := explain(nil, nil, doc, failed); len(vs) > 0 {
				v := vs[len(vs)-1]
				for _, w := range vs { // the deepest is the most precise
					if w.Keyword != "more" && (v.Keyword == "more" || strings.Count(w.Path, "/") > strings.Count(v.Path, "/")) {
						v = w
					}
				}
				msg := "not a valid schema: " + v.Message
				if v.Closest != "" {
					msg += "; did you mean " + oneLine(v.Closest) + "?"
				}
				return &CompileError{fragmentPointer(meta.URL) + v.Path, msg}
			}
		}
	}
	var pat *jsonschema.InvalidRegexError
	if errors.As(err, &pat) {
		return &CompileError{fragmentPointer(pat.URL), fmt.Sprintf("the pattern %s does not compile: %v", quote(pat.Regex), pat.Err)}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return &CompileError{"", fmt.Sprintf("the reference to %s leaves the schema: only references that begin with # are followed, nothing is fetched", quote(load.URL))}
	}
	return &CompileError{"", strings.ReplaceAll(err.Error(), base, "")}
}
