package wire

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/llm"
)

var testLimits = llm.Limits{Name: word64, Key: keyWord, RootRefused: []string{"oneOf", "anyOf", "allOf"}}

func TestLower(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{ // want "" is: byte for byte as it was; * is eight hex digits
		{"nothing to change", `{ "type": "object", "properties": {"a": {"type": "number", "maximum": 1.0}}, "additionalProperties": false }`, ""},
		{"2020-12 is the provider's own dialect", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{}}`, ""},
		{"H033: a foreign dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}}`,
			`{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}}`},
		{"what an older dialect writes otherwise", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"t":{"items":[{"type":"string"}],"additionalItems":false},"n":{"minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"t":{"prefixItems":[{"type":"string"}],"items":false},"n":{"maximum":9,"exclusiveMinimum":1}}}`},
		{"H037: no properties", `{"type":"object"}`, `{"type":"object","properties":{}}`},
		{"H037: nothing at all", `{}`, `{"type":"object","properties":{}}`},
		{"H037: null", `null`, `{"type":"object","properties":{}}`},
		{"everything is allowed", `true`, `{"type":"object","properties":{}}`},
		{"an object or null", `{"type":["object","null"],"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"H035: a choice at the root", `{"type":"object","properties":{"by_id":{"type":"string"},"by_name":{"type":"string"}},"oneOf":[{"required":["by_id"]},{"required":["by_name"]}]}`,
			`{"type":"object","properties":{"by_id":{"type":"string"},"by_name":{"type":"string"}}}`},
		{"the branches' properties are still seen", `{"anyOf":[{"properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k","x"]},{"properties":{"k":{"const":"b"}},"required":["k"]}]}`,
			`{"type":"object","properties":{"k":{"anyOf":[{"const":"a"},{"const":"b"}]},"x":{"type":"string"}},"required":["k"]}`},
		{"a third branch joins the choice", `{"oneOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2}}},{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":3}}}]}`,
			`{"type":"object","properties":{"k":{"anyOf":[{"const":1},{"const":2},{"const":3}]}}}`},
		{"what all must satisfy is required", `{"type":"object","properties":{"a":{}},"required":["a"],"allOf":[{"required":["a","b"],"properties":{"b":{}}},{"$ref":"#/$defs/c"}],"$defs":{"c":{"properties":{"c":{"type":"null"}},"required":["c"]}}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{"type":"null"}},"required":["a","b","c"],"$defs":{"c":{"properties":{"c":{"type":"null"}},"required":["c"]}}}`},
		{"a property of the root stays as it is there", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"properties":{"a":{"minLength":1}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"deeper down a choice stays", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`, ""},
		{"a reference into what went", `{"type":"object","properties":{"a":{"$ref":"#/anyOf/0"}},"anyOf":[{"type":"object"}]}`,
			`{"type":"object","properties":{"a":{}}}`},
		{"the root is a reference", `{"$ref":"#/$defs/r","$defs":{"r":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"$defs":{"r":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"a root that refers to itself", `{"$ref":"#"}`, `{"$ref":"#","type":"object","properties":{}}`},
		{"H039: a recursive schema", `{"type":"object","properties":{"tree":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["v"]}}}`, ""},
		{"a choice that refers to itself", `{"anyOf":[{"$ref":"#/$defs/n"}],"$defs":{"n":{"properties":{"a":{}},"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#"}]}}}`,
			`{"$defs":{"n":{"properties":{"a":{}},"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#"}]}},"type":"object","properties":{"a":{}}}`},
		{"H045: property names", `{"type":"object","properties":{"sort[by]":{"type":"string"},"$skip":{"type":"integer"},"ok":{}},"required":["sort[by]","ok"]}`,
			`{"type":"object","properties":{"sort_by_*":{"type":"string"},"skip_*":{"type":"integer"},"ok":{}},"required":["sort_by_*","ok"]}`},
		{"property names wherever they stand", `{"type":"object","properties":{"f":{"items":{"$ref":"#/$defs/q/properties/%24or"}}},"$defs":{"q":{"properties":{"$or":{"properties":{"a b":{}}}},"dependentRequired":{"$or":["a b"]},"dependentSchemas":{"a b":{"required":["$or"]}}}}}`,
			`{"type":"object","properties":{"f":{"items":{"$ref":"#/$defs/q/properties/or_*"}}},"$defs":{"q":{"properties":{"or_*":{"properties":{"a_b_*":{}}}},"dependentRequired":{"or_*":["a_b_*"]},"dependentSchemas":{"a_b_*":{"required":["or_*"]}}}}}`},
		{"values are no names", `{"type":"object","properties":{"a":{"enum":["$skip"],"default":{"$skip":1}},"$skip":{}}}`,
			`{"type":"object","properties":{"a":{"enum":["$skip"],"default":{"$skip":1}},"skip_*":{}}}`},
	} {
		got, _ := lower(json.RawMessage(c.in), testLimits)
		want := c.want
		if want == "" {
			want = c.in
		}
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, "[0-9a-f]{8}") + "$"
		if !regexp.MustCompile(pattern).Match(got) {
			t.Errorf("%s:\n%s\ngives %s\nwant  %s", c.why, c.in, got, want)
		}
		again, k := lower(got, testLimits)
		if string(again) != string(got) || k != nil {
			t.Errorf("%s: what was lowered is lowered again: %s", c.why, again)
		}
	}
}

// Whatever the schema, what is shown is finite JSON that keeps to the limits.
func FuzzLower(f *testing.F) {
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`))
	f.Add([]byte(`{"properties":{"$a":{"$ref":"#/properties/%24a"}},"allOf":[{"$ref":"#/properties/%24a"}]}`))
	f.Add([]byte(`{"oneOf":[{"properties":{"a":1}},{"properties":{"a":2}}],"items":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		got, _ := lower(data, testLimits)
		if !json.Valid(data) {
			return
		}
		v, err := parse(got)
		if err != nil {
			t.Fatalf("%s gives %s: %v", data, got, err)
		}
		if s, _ := v.get("type").text(); s != "object" || v.get("properties") == nil || v.get("oneOf") != nil {
			t.Fatalf("%s gives %s", data, got)
		}
	})
}
