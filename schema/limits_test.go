package schema

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pb33f/jsonschema/v6"
)

// ladder is a schema of n steps, each with two ways to the next: 2^n evaluations.
func ladder(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/s0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"s%d":{"anyOf":[{"$ref":"#/$defs/s%d"},{"$ref":"#/$defs/s%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"s%d":{"type":"string"}}}`, n)
	return b.String()
}

func subschemas(n int) string { // n in all, with the root
	parts := make([]string, n-1)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"p%d":{"minimum":1}`, i)
	}
	return `{"properties":{` + strings.Join(parts, ",") + `}}`
}

func nested(n int) string { // JSON depth n
	return strings.Repeat(`{"not":`, n-1) + `{}` + strings.Repeat(`}`, n-1)
}

// TestCompileRefuses is the list of schemas that must not become a tool, each
// with its place and what the message has to name.
func TestCompileRefuses(t *testing.T) {
	var hits atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, `{"type":"string"}`)
	}))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	fileURL := "file://" + filepath.ToSlash(file)
	bools := strings.Repeat("true,", maxObjects)

	for _, c := range []struct{ name, schema, path, says string }{
		{"blank", " ", "", "no value"},
		{"not JSON", `{"type":"object"`, "", "unterminated JSON"},
		{"a name twice", `{"type":"object","type":"string"}`, "/type", "duplicate member"},
		{"null", `null`, "", "expected boolean or object"},
		{"a misspelled type", `{"properties":{"size":{"type":"intger"}}}`, "/properties/size/type", `"integer"`},
		{"a type of the wrong kind", `{"type":3}`, "/type", "integer 3"},
		{"properties as a list", `{"properties":[]}`, "/properties", "expected object"},
		{"required as a text", `{"required":"a"}`, "/required", "expected array"},
		{"a text as minimum", `{"items":{"minimum":"1"}}`, "/items/minimum", "expected number"},
		{"a negative length", `{"minLength":-1}`, "/minLength", "at least 0"},
		{"required: true of draft 3", `{"properties":{"a":{"required":true}}}`, "/properties/a/required", "expected array"},
		{"an unknown dialect", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, "/$schema", "unknown dialect"},
		{"a dialect on the web", `{"$schema":"` + web.URL + `/meta"}`, "/$schema", "unknown dialect"},

		{"a file", `{"properties":{"a":{"$ref":"` + fileURL + `"}}}`, "/properties/a/$ref", "nothing is fetched"},
		{"a web page", `{"$ref":"` + web.URL + `/s.json"}`, "/$ref", "nothing is fetched"},
		{"a relative file", `{"$ref":"s.json#/x"}`, "/$ref", "nothing is fetched"},
		{"a file below an unknown keyword", `{"$ref":"#/x","x":{"$ref":"` + fileURL + `"}}`, "", "nothing is fetched"},
		{"a web page below an unknown keyword", `{"$ref":"#/x","x":{"$ref":"` + web.URL + `/s.json"}}`, "", "nothing is fetched"},
		{"a dialect below an unknown keyword", `{"$ref":"#/x","x":{"$id":"http://x.example/","$schema":"` + web.URL + `/meta"}}`, "", ""},
		{"nowhere", `{"properties":{"a":{"$ref":"#/$defs/gone"}}}`, "/properties/a/$ref", "points to nothing"},
		{"an anchor nowhere", `{"$ref":"#gone"}`, "", "not found"},

		{"a loop in place", `{"allOf":[{"$ref":"#"}]}`, "", "refers to itself"},
		{"a loop of two", `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/y"}]},"y":{"$ref":"#/$defs/x"}}}`, "/$defs/x", "refers to itself"},
		{"a ladder of 26", ladder(26), "/$defs/s15", "more than 4096"},
		{"a pattern that is none", `{"properties":{"a":{"pattern":"("}}}`, "/properties/a/pattern", "("},
		{"a name pattern that is none", `{"patternProperties":{"[":{}}}`, "/patternProperties/[", "["},
		{"a long pattern", `{"pattern":"` + strings.Repeat("a", MaxPattern+1) + `"}`, "/pattern", "the pattern has 1025 bytes; at most 1024"},
		{"a long name pattern", `{"patternProperties":{"` + strings.Repeat("a", MaxPattern+1) + `":{}}}`, "/patternProperties", "at most 1024"},
		{"a long pattern below an unknown keyword", `{"$ref":"#/x","x":{"pattern":"` + strings.Repeat("a", MaxPattern+1) + `"}}`, "/x/pattern", "at most 1024"},

		{"too long", `{"description":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`, "", "at most 262144"},
		{"too deep", nested(MaxDepth + 1), strings.Repeat("/not", MaxDepth), "deeper than 64"},
		{"too many subschemas", subschemas(MaxSubschemas + 1), "/properties/p999", "more than 2000"},
		{"too many below an unknown keyword", `{"$ref":"#/x","x":{"anyOf":[` + bools + `true]}}`, "", "at most 6000"},
		{"alternatives without end", places(24), "", "too many different sets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := Compile([]byte(c.schema))
			var refused *CompileError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refused.Path != c.path || !strings.Contains(refused.Message, c.says) {
				t.Errorf("got %q: %s\nwant %q: … %s …", refused.Path, refused.Message, c.path, c.says)
			}
			if n := len(err.Error()); n > 1500 {
				t.Errorf("a message of %d bytes", n)
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	if n := hits.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

// places is a schema whose places double with each level of the value.
func places(n int) string {
	var a, b []string
	for i := range n {
		a = append(a, fmt.Sprintf(`"n%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d0"}]}`, i, (i+1)%n))
		b = append(b, fmt.Sprintf(`"d%d":{"properties":{"x":{"$ref":"#/$defs/n%d"},"y":{"$ref":"#/$defs/d%d"},"own%d":{}}}`, i, i, (i+1)%n, i))
	}
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(append(a, b...), ",") + `}}`
}

// TestCompileTakes is what the limits must not refuse.
func TestCompileTakes(t *testing.T) {
	for name, schema := range map[string]string{
		"true": `true`, "false": `false`, "empty": `{}`, "unknown keywords": `{"x-order":1,"propertys":{"a":{"type":"nope"}}}`,
		"depth": nested(MaxDepth), "subschemas": subschemas(MaxSubschemas), "pattern": `{"pattern":"` + strings.Repeat("a", MaxPattern) + `"}`,
		"size":     `{"description":"` + strings.Repeat("x", MaxSchemaBytes-18) + `"}`,
		"a ladder": ladder(9), "recursion through a member": `{"properties":{"kid":{"$ref":"#"}}}`,
		"a name that looks like a keyword": `{"properties":{"$ref":{"type":"string"},"pattern":{"type":"string"},"$schema":{"type":"string"}}}`,
		"an encoded reference":             `{"$ref":"#/$defs/a~1b%25c","$defs":{"a/b%c":{}}}`,
		"an anchor":                        `{"$ref":"#x","$defs":{"x":{"$anchor":"x"}}}`,
		"a resource of its own":            `{"$id":"https://x.example/t","$ref":"#/$defs/x","$defs":{"x":{"type":"string"}}}`,
		"data that looks like a reference": `{"default":{"$ref":"http://x.example/"},"enum":[{"$ref":"file:///x"}]}`,
		"names that differ by case":        `{"properties":{"a":{},"A":{}}}`,
		"a dynamic reference":              `{"$dynamicAnchor":"n","properties":{"kid":{"$dynamicRef":"#n"}}}`,
		"http for https":                   `{"$schema":"http://json-schema.org/draft/2020-12/schema"}`,
		"draft-07 without #":               `{"$schema":"http://json-schema.org/draft-07/schema"}`,
	} {
		if _, err := Compile([]byte(schema)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBacktracking: patterns that RE2 cannot take are enforced, and cannot hold
// a call up.
func TestBacktracking(t *testing.T) {
	bomb := strings.Repeat("a", 30) + "!"
	many := `["` + strings.Repeat(bomb+`","`, 2000) + `a"]`
	for _, c := range []struct {
		name, schema, data string
		valid              bool
	}{
		{"RE2 is linear", `{"pattern":"^(a+)+$"}`, `"` + bomb + `"`, false},
		{"look-ahead holds", `{"pattern":"^(?!\\.).+$"}`, `"x"`, true},
		{"look-ahead fails", `{"pattern":"^(?!\\.).+$"}`, `".x"`, false},
		{"a back reference", `{"pattern":"^(a|b)\\1$"}`, `"bb"`, true},
		{"catastrophic", `{"pattern":"^(?=a)(a+)+$"}`, `"` + bomb + `"`, false},
		{"catastrophic two thousand times", `{"items":{"pattern":"^(?=a)(a+)+$"}}`, many, false},
		{"catastrophic in names", `{"patternProperties":{"^(?=a)(a+)+$":false},"additionalProperties":false}`, `{"` + bomb + `":1}`, false},
		{"as long as is looked at", `{"pattern":"^(?!x)"}`, `"` + strings.Repeat("a", backtrackBytes) + `"`, true},
		{"longer than is looked at", `{"pattern":"^(?!x)"}`, `"` + strings.Repeat("a", backtrackBytes+1) + `"`, false},
		{"a property escape", `{"pattern":"^(?=.)\\p{L}+$"}`, `"é"`, true},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		start := time.Now()
		found, err := s.Validate([]byte(c.data))
		if valid := err == nil && found == nil; valid != c.valid {
			t.Errorf("%s: %v, %v", c.name, found, err)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s: took %v", c.name, d)
		}
	}
}

// TestExplosion: alternatives that each descend into the same member double the
// work at every level of the value. Both tiers give up instead.
func TestExplosion(t *testing.T) {
	s, err := Compile([]byte(`{"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[
		{"properties":{"kid":{"$ref":"#/$defs/n"},"k":{"const":1}},"required":["k"]},
		{"properties":{"kid":{"$ref":"#/$defs/n"},"k":{"const":2}},"required":["k"]},
		{"properties":{"kid":{"$ref":"#/$defs/n"}},"required":["q"]}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	tower := func(n int) []byte {
		return []byte(strings.Repeat(`{"kid":`, n) + `{}` + strings.Repeat(`,"k":3}`, n))
	}
	start := time.Now()
	found, err := s.Validate(tower(60))
	if err != nil || len(found) != 1 || found[0].Keyword != "limit" {
		t.Errorf("got %v, %v", found, err)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("took %v", d)
	}
	found, err = s.Validate(tower(5))
	if err != nil || len(found) == 0 || found[0].Keyword == "limit" {
		t.Errorf("a small value: %v, %v", found, err)
	}
}

// TestDearValues: no value may cost much more than reading it, by what else the
// engine does.
func TestDearValues(t *testing.T) {
	eights := "[" + strings.Repeat("8,", 400_000) + "8]"
	ones := "[" + strings.Repeat("1,", 400_000) + "1]"
	text := `"` + strings.Repeat("a", 1_000_000) + `"`
	var names, rules []string
	for i := range 20_000 {
		names = append(names, fmt.Sprintf(`"n%d":1`, i))
	}
	for i := range 1_500 {
		rules = append(rules, fmt.Sprintf(`"x%d$":{}`, i))
	}
	members := "{" + strings.Join(names, ",") + "}"
	for name, c := range map[string]struct{ schema, data string }{
		"a long enum":            {`{"items":{"enum":[` + strings.Repeat("9,", 50_000) + `8]}}`, eights},
		"a wide pattern":         {`{"pattern":"[\\s\\S]{1000}x"}`, text},
		"wide patterns together": {`{"allOf":[` + strings.Repeat(`{"pattern":"(a|b|c|d.)*x"},`, 500) + `{}]}`, text},
		"many name patterns":     {`{"patternProperties":{` + strings.Join(rules, ",") + `}}`, members},
		"a wide name pattern":    {`{"propertyNames":{"pattern":"[\\s\\S]{1000}x"}}`, `{"` + text[1:len(text)-1] + `":1}`},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Fatal(name, err)
		}
		start := time.Now()
		found, err := s.Validate([]byte(c.data))
		if err != nil || len(found) != 1 || found[0].Keyword != "limit" {
			t.Errorf("%s: %.200s, %v", name, found, err)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
	// and what is merely large is still judged
	for name, c := range map[string]struct{ schema, data string }{
		"a plain pattern": {`{"pattern":"^(a|b)+$"}`, text}, "a long list": {`{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`, ones},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Fatal(name, err)
		}
		if found, err := s.Explain([]byte(c.data)); err != nil || found != nil {
			t.Errorf("%s: %.200s, %v", name, found, err)
		}
	}
}

// TestDynamicReferencesAreCounted: the count follows every schema that a dynamic
// reference may land on, and ends although some of them could lead back.
func TestDynamicReferencesAreCounted(t *testing.T) {
	s, err := Compile([]byte(`{"$id":"https://x.example/a","$dynamicAnchor":"n","type":"string","allOf":[{"$ref":"#/$defs/b"}],
		"$defs":{"b":{"$id":"https://x.example/b","properties":{"k":{"$dynamicRef":"#n"}},"$defs":{"c":{"$dynamicAnchor":"n","allOf":[{"$ref":"#/$defs/d"}],"$defs":{"d":{"minLength":1}}},
		"d":{"if":{"type":"object"},"then":{"$dynamicRef":"#n"}}}}}}`))
	if err != nil {
		var refused *CompileError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		return
	}
	if found, err := s.Explain([]byte(`"x"`)); err != nil || found != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

// TestEngineFailure: what panics in the engine is an error to the caller, never
// a verdict.
func TestEngineFailure(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	broken := *s
	broken.engine, broken.fast = nil, nil
	found, err := broken.Validate([]byte(`{}`))
	var bad *SyntaxError
	if err == nil || errors.As(err, &bad) || found != nil {
		t.Errorf("got %v, %v, want an error that is no verdict", found, err)
	}
	_, err = compile([]byte(`{"type":"object"}`), setup{draft: &jsonschema.Draft{}})
	var refused *CompileError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "engine failed") {
		t.Errorf("got %v, want a refusal", err)
	}
}
