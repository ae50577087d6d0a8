package schema

import (
	"strings"
	"testing"
)

// A pattern that could not be decided is a refusal wherever it stands: as the
// name of a member and under not, "no match" would let the value pass.
func TestUndecidedPatternsRefuse(t *testing.T) {
	slow := strings.Repeat("a", 100) + "!"
	long := strings.Repeat("a", backtrackBytes+1)
	for _, tt := range []struct{ name, schema, value string }{
		{"under not, stopped by the clock", `{"not":{"pattern":"^(?=a)(a+)+$"}}`, `"` + slow + `"`},
		{"under not, too long", `{"not":{"pattern":"^(?=a)"}}`, `"` + long + `"`},
		{"a member's name, stopped by the clock", `{"patternProperties":{"^(?=a)(a+)+$":false}}`, `{"` + slow + `":1}`},
		{"a member's name, too long", `{"patternProperties":{"^(?=a)":false}}`, `{"` + long + `":1}`},
		{"in a condition", `{"if":{"pattern":"^(?=a)"},"then":false}`, `"` + long + `"`},
	} {
		s, err := Compile([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		vs, err := s.Validate([]byte(tt.value))
		if err != nil || len(vs) != 1 || vs[0].Keyword != "limit" {
			t.Errorf("%s: %v %v, want one violation of the limit", tt.name, vs, err)
		}
		if vs, err := s.Validate([]byte(`"b"`)); err != nil || len(vs) != 0 {
			t.Errorf("%s: the next value is refused too: %v %v", tt.name, vs, err)
		}
	}
}

// Names that are required cost time and memory for every object that lacks them:
// 20,000 of them in 300,000 empty objects would be six billion findings.
func TestRequiredNamesAreCounted(t *testing.T) {
	var names []string
	for i := range 20_000 {
		names = append(names, `"`+strings.Repeat("x", i%5)+string(rune('a'+i%26))+strings.Repeat("y", i/26%50)+strings.Repeat("z", i/1300)+`"`)
	}
	distinct := map[string]bool{}
	list := names[:0]
	for _, n := range names {
		if !distinct[n] && len(list) < 2_000 {
			distinct[n] = true
			list = append(list, n)
		}
	}
	all := "[" + strings.Join(list, ",") + "]"
	for _, tt := range []struct{ schema, item string }{
		{`{"items":{"required":` + all + `}}`, `{}`},
		{`{"items":{"dependentRequired":{"a":` + all + `}}}`, `{"a":1}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"dependencies":{"a":` + all + `}}}`, `{"a":1}`},
	} {
		s, err := Compile([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		vs, err := s.Explain([]byte("[" + tt.item + strings.Repeat(","+tt.item, 20_000) + "]"))
		if err != nil || len(vs) != 1 || vs[0].Keyword != "limit" {
			t.Errorf("%.60s: %d violations (%v), want one of the limit", tt.schema, len(vs), err)
		}
		if vs, err := s.Explain([]byte("[" + tt.item + "]")); err != nil || len(vs) < 10 {
			t.Errorf("%.60s: one object: %d violations, %v", tt.schema, len(vs), err)
		}
	}
}
