package schema_test

import (
	"errors"
	"fmt"

	"github.com/callgate/callgate/schema"
)

func Example() {
	s, err := schema.Compile([]byte(`{
		"type": "object",
		"properties": {
			"path":  {"type": "string"},
			"limit": {"type": "integer", "minimum": 1}
		},
		"required": ["path"],
		"additionalProperties": false
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}

	found, err := s.Validate([]byte(`{"path": "a.go", "limit": 20}`))
	fmt.Println(found == nil, err)

	found, _ = s.Validate([]byte(`{"pth": "a.go", "limit": "20"}`))
	fmt.Println(found)
	// Output:
	// true <nil>
	// /limit: expected integer, got string "20"; the string holds the integer as text: send the integer itself, without quotes
	// /path: missing required field; expected string
	// /pth: unknown field; the fields here are path, limit; did you mean path?
}

// Bytes that are not strict JSON never reach the schema.
func ExampleSchema_Validate_syntax() {
	s, _ := schema.Compile([]byte(`{"properties": {"path": {"type": "string"}}}`))
	for _, args := range []string{
		`{"path": "a.go`,
		`{"path": a.go}`,
		`{"path": "ok.txt", "path": "/etc/passwd"}`,
		`{"PATH": "a.go"}`,
		`{"path": "a"}{"path": "b"}`,
	} {
		_, err := s.Validate([]byte(args))
		var bad *schema.SyntaxError
		if errors.As(err, &bad) {
			fmt.Println(bad.Kind, "|", bad)
		}
	}
	// Output:
	// truncated | /path: unterminated JSON: the input ends at byte 14 inside a string that starts at byte 9
	// syntax | /path: malformed JSON at byte 9: found 'a' where a value is expected
	// duplicate | /path: duplicate member "path" at byte 19: a name may appear once in an object
	// case_variant | /PATH: member "PATH" at byte 1 differs from the declared "path" only by case: names are case-sensitive, use "path"
	// trailing | data after the first value at byte 13: send exactly one JSON value
}

// A schema that is wrong is refused when the tool is registered, at the place
// that is wrong.
func ExampleCompile() {
	for _, raw := range []string{
		`{"properties": {"size": {"type": "intger"}}}`,
		`{"$ref": "file:///etc/passwd"}`,
		`{"allOf": [{"$ref": "#"}]}`,
	} {
		_, err := schema.Compile([]byte(raw))
		fmt.Println(err)
	}
	// Output:
	// schema: /properties/size/type: not a valid schema: must be one of "array", "boolean", "integer", "null", "number", "object", "string", got string "intger", or of type array; did you mean "integer"?
	// schema: /$ref: the reference "file:///etc/passwd" leaves the schema: only references that begin with # are followed, nothing is fetched; copy the target into $defs
	// schema: (root): the schema refers to itself without a step into the value: it can never be decided; put the reference below properties or items
}

// Fast tells an author whether the common case costs a third of a microsecond or
// that of the full engine.
func ExampleSchema_Fast() {
	s, _ := schema.Compile([]byte(`{"type": "object", "properties": {"n": {"type": "string", "pattern": "^(?!\\.)"}}, "required": ["n"]}`))
	fmt.Println(s.Fast())
	// Output:
	// false pattern at /properties/n
}
