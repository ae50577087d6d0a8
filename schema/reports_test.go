package schema

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestReportedFaults replays faults that people have reported at tool
// boundaries, as far as a schema decides them. A subtest is named by the id that
// the fault has in testdata.
func TestReportedFaults(t *testing.T) {
	for _, c := range []struct {
		id, schema, args string
		path             string   // of the violation or the syntax error
		keyword          string   // of the violation; "" where the strict gate refuses
		kind             string   // of the syntax error
		says             []string // parts of what the model reads
		not              []string
	}{
		{id: "H011", schema: `{"type":"object","properties":{"auto_open":{"type":"boolean","default":true}}}`, args: `{"auto_open":"False"}`,
			path: "/auto_open", keyword: "type", says: []string{"/auto_open", "boolean", `"False"`}},
		{id: "H013 text NaN", schema: `{"type":"object","properties":{"p":{"type":"number","minimum":0,"maximum":1}}}`, args: `{"p":"NaN"}`,
			path: "/p", keyword: "type", says: []string{"expected number", `"NaN"`}},
		{id: "H013 text Infinity", schema: `{"type":"object","properties":{"p":{"type":"number","minimum":0,"maximum":1}}}`, args: `{"p":"Infinity"}`,
			path: "/p", keyword: "type", says: []string{"expected number"}},
		{id: "H013 literal NaN", schema: `{"type":"object","properties":{"p":{"type":"number","minimum":0,"maximum":1}}}`, args: `{"p":NaN}`,
			path: "/p", kind: KindSyntax, says: []string{"NaN is not JSON", "byte 5"}},
		{id: "H019", schema: `{"type":"object","properties":{"path":{"type":"string"}}}`, args: `{"path":"ok.txt","path":"../../etc/passwd"}`,
			path: "/path", kind: KindDuplicate, says: []string{`duplicate member "path"`}},
		{id: "H022", schema: `{}`, args: "{\"command\":\"printf 'a\nb'\"}",
			path: "/command", kind: KindSyntax, says: []string{"control character at byte 21"}},
		{id: "H025", schema: `{}`, args: `{"path":"a"}{"path":"b"}`,
			kind: KindTrailing, says: []string{"data after the first value"}},
		{id: "H026", schema: `{}`, args: `{"mode": fst"}`,
			path: "/mode", kind: KindSyntax, says: []string{"malformed JSON at byte 10"}, not: []string{"truncated", "length", "unterminated", "ends"}},
		{id: "H029", schema: `{}`, args: `{"content":"line one`,
			path: "/content", kind: KindTruncated, says: []string{"unterminated JSON"}},
		{id: "H031", schema: `{"type":"object","properties":{"prompt":{"type":"string"}},"additionalProperties":false}`, args: `{"prompt":"p","modle":"big"}`,
			path: "/modle", keyword: "additionalProperties", says: []string{"/modle", "unknown field", "prompt"}},
		{id: "H039", schema: `{"type":"object","properties":{"tree":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["v"]}}}`, args: `{"tree":{"v":1,"kids":[{"v":"x"}]}}`,
			path: "/tree/kids/0/v", keyword: "type", says: []string{"expected integer", `"x"`}},
		{id: "H042 null", schema: `{"type":"object","properties":{"q":{"type":["string","null"]}}}`, args: `{"q":null}`},
		{id: "H042 integer", schema: `{"type":"object","properties":{"q":{"type":["string","null"]}}}`, args: `{"q":1}`,
			path: "/q", keyword: "type", says: []string{"string", "null", "integer 1"}},
		{id: "H044", schema: `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0,"multipleOf":2},"m":{"const":"x"},"a":{"type":"array","items":{"type":"string"},"uniqueItems":true}}}`, args: `{"n":0}`,
			path: "/n", keyword: "exclusiveMinimum", says: []string{"greater than 0", "got 0"}},
		{id: "H048 refused", schema: `{"type":"object","properties":{"n":{"type":"string","pattern":"^(?!\\.).+$"}}}`, args: `{"n":".x"}`,
			path: "/n", keyword: "pattern", says: []string{`^(?!\.).+$`}},
		{id: "H048 enforced", schema: `{"type":"object","properties":{"n":{"type":"string","pattern":"^(?!\\.).+$"}}}`, args: `{"n":"x"}`},
	} {
		t.Run(c.id, func(t *testing.T) {
			s, err := Compile([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Validate([]byte(c.args))
			var text string
			switch {
			case c.kind != "":
				var bad *SyntaxError
				if !errors.As(err, &bad) || bad.Kind != c.kind || bad.Path != c.path {
					t.Fatalf("got %#v, want a %s error at %q", err, c.kind, c.path)
				}
				text = bad.Error()
			case c.keyword != "":
				if err != nil || len(found) != 1 || found[0].Path != c.path || found[0].Keyword != c.keyword {
					t.Fatalf("got %v, %v, want one violation of %s at %q", found, err, c.keyword, c.path)
				}
				text = found.String()
			case err != nil || found != nil:
				t.Fatalf("got %v, %v, want valid", found, err)
			}
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q does not say %q", text, part)
				}
			}
			for _, part := range c.not {
				if strings.Contains(text, part) {
					t.Errorf("%q says %q", text, part)
				}
			}
		})
	}

	t.Run("H047", func(t *testing.T) {
		_, err := Compile([]byte(`{"type":"object","properties":{"size":{"type":"intger"}}}`))
		var refused *CompileError
		if !errors.As(err, &refused) || refused.Path != "/properties/size/type" {
			t.Fatalf("got %v, want an error at /properties/size/type", err)
		}
		if !strings.Contains(err.Error(), `did you mean "integer"`) {
			t.Errorf("%q does not say what was meant", err)
		}
	})
}

// TestViolations says what the model is told, keyword by keyword.
func TestViolations(t *testing.T) {
	for _, c := range []struct{ schema, args, want string }{
		{`{"required":["a","b"],"properties":{"b":{"enum":["x","y"]}}}`, `{}`, "/a: missing required field\n/b: missing required field; expected one of \"x\", \"y\""},
		{`{"properties":{"user":{"required":["email"],"properties":{"email":{"type":"string"}}}}}`, `{"user":{}}`, "/user/email: missing required field; expected string"},
		{`{"properties":{"path":{},"page":{}},"additionalProperties":false}`, `{"pth":1}`, "/pth: unknown field; the fields here are path, page; did you mean path?"},
		{`{"properties":{"path":{},"page":{}},"additionalProperties":false}`, `{"path":1,"pth":1}`, "/pth: unknown field; the fields here are path, page"},
		{`{"properties":{"path":{}},"unevaluatedProperties":false,"allOf":[{}]}`, `{"pth":1}`, "/pth: unknown field; the fields here are path; did you mean path?"},
		{`{"additionalProperties":false}`, `{"a/b~c":1}`, "/a~1b~0c: unknown field; no fields are accepted here"},
		{`{"enum":["open","closed"]}`, `"opened"`, `(root): must be one of "open", "closed", got string "opened"; did you mean "open"?`},
		{`{"const":1}`, `"1"`, `(root): must be 1, got string "1"; did you mean 1?`},
		{`{"type":"array"}`, `"[1,2]"`, `(root): expected array, got string "[1,2]"; the string holds the array as text: send the array itself, without quotes`},
		{`{"type":"integer"}`, `1.5`, "(root): expected integer, got number 1.5"},
		{`{"type":"string"}`, `9007199254740993`, "(root): expected string, got integer 9007199254740993"},
		{`{"maximum":9007199254740992}`, `9007199254740993`, "(root): must be at most 9007199254740992, got 9007199254740993"},
		{`{"minimum":0.1}`, `0.05`, "(root): must be at least 0.1, got 0.05"},
		{`{"exclusiveMaximum":2}`, `2.0`, "(root): must be less than 2, got 2.0"},
		{`{"multipleOf":0.01}`, `0.001`, "(root): must be a multiple of 0.01, got 0.001"},
		{`{"minLength":2}`, `"é"`, "(root): must have at least 2 characters, got 1"},
		{`{"maxLength":1}`, `"😀😀"`, "(root): must have at most 1 character, got 2"},
		{`{"minItems":1}`, `[]`, "(root): must have at least 1 item, got 0"},
		{`{"maxItems":1}`, `[1,2]`, "(root): must have at most 1 item, got 2"},
		{`{"minProperties":1}`, `{}`, "(root): must have at least 1 field, got 0"},
		{`{"maxProperties":0}`, `{"a":1}`, "(root): must have at most 0 fields, got 1"},
		{`{"pattern":"^a"}`, `"b"`, `(root): must match the pattern ^a, got "b"`},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, "(root): items must be unique: item 2 equals item 0"},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A1":1}`, `/A1: the name "A1" is not accepted: must match the pattern ^[a-z]+$, got "A1"`},
		{`{"properties":{"a":false}}`, `{"a":1}`, "/a: the schema accepts no value here; leave it out"},
		{`{"prefixItems":[{}],"items":false}`, `[1,2]`, "/1: the schema accepts no value here; leave it out"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":false}`, `[1,2,3]`, "(root): must have at most 1 item, got 3"},
		{`{"not":{"type":"string"}}`, `"x"`, `(root): must not be string, got string "x"`},
		{`{"contains":{"type":"integer"}}`, `["a"]`, "(root): must have an item of the required kind, got none; expected integer"},
		{`{"contains":{"type":"integer"},"minContains":2}`, `[1]`, "(root): must have at least 2 items of the required kind, got 1; expected integer"},
		{`{"contains":{"type":"integer"},"maxContains":1}`, `[1,2]`, "(root): must have at most 1 of the items that match contains, got 2"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: missing field, required when "a" is present`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, `/b: missing field, required when "a" is present`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `5`, "(root): expected string or null, got integer 5"},
		{`{"anyOf":[{"const":"a"},{"const":"b"},{"type":"null"}]}`, `"c"`, `(root): must be one of "a", "b", got string "c", or of type null`},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `3`, "(root): matches alternatives 1 and 2 at once; exactly one must match, so send what tells them apart"},
		{`{"anyOf":[{"properties":{"kind":{"const":"term"},"value":{"type":"string"}},"required":["kind","value"]},{"properties":{"kind":{"const":"range"},"gte":{"type":"number"}},"required":["kind"]}]}`, `{"kind":"range","gte":"1"}`,
			`/gte: expected number, got string "1"; the string holds the integer as text: send the integer itself, without quotes (read as alternative 2 of 2, the closest)`},
		{`{"allOf":[{"minimum":5},{"multipleOf":2}]}`, `3`, "(root): must be at least 5, got 3\n(root): must be a multiple of 2, got 3"},
		{`{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "/b: missing required field"},
		{`{"additionalProperties":{"type":"string"}}`, `{"a\nb":1}`, `/a\u000ab: expected string, got integer 1`},
		{`{"type":"string"}`, `{"a":1}`, "(root): expected string, got object of 1"},
		{`{"type":"boolean"}`, `null`, "(root): expected boolean, got null"},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		found, err := s.Validate([]byte(c.args))
		if err != nil || found.String() != c.want {
			t.Errorf("%s on %s:\ngot  %s (%v)\nwant %s", c.schema, c.args, found, err, c.want)
		}
		for _, v := range found {
			for _, a := range v.Allowed {
				if strings.Contains(a, "\n") {
					t.Errorf("%s: allowed %q", c.schema, a)
				}
			}
		}
	}
}

// TestViolationsAreBounded sends values with tens of thousands of faults, and
// long names and texts.
func TestViolationsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	many := make([]string, 30_000)
	for i := range many {
		many[i] = "1"
	}
	for _, c := range []struct {
		name, schema, args string
		more               bool
	}{
		{"many faults", `{"items":{"type":"string"}}`, "[" + strings.Join(many, ",") + "]", true},
		{"a long name", `{"additionalProperties":false}`, `{"` + long + `":1}`, false},
		{"a long text", `{"type":"integer"}`, `"` + long + `"`, false},
		{"a long enum", `{"enum":["` + strings.Repeat(`abcdefgh","`, 10_000) + `z"]}`, `1`, false},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Fatal(c.name, err)
		}
		found, err := s.Validate([]byte(c.args))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", c.name, found, err)
		}
		if n := len(found.String()); n > MaxViolationBytes+1000 {
			t.Errorf("%s: %d bytes of text", c.name, n)
		}
		if more := found[len(found)-1].Keyword == "more"; more != c.more || len(found) > MaxViolations+1 {
			t.Errorf("%s: %d entries, more=%t", c.name, len(found), more)
		}
		if c.more && !strings.HasPrefix(found[len(found)-1].Message, "29950 more violations") {
			t.Errorf("%s: %s", c.name, found[len(found)-1].Message)
		}
		paths := []string{}
		for _, v := range found {
			if v.Keyword != "more" {
				paths = append(paths, v.Path)
			}
		}
		if !slices.IsSorted(paths) {
			t.Errorf("%s: not sorted by path", c.name)
		}
	}
}
