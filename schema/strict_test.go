package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestStrict(t *testing.T) {
	accept := anyValue(t)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	digits := func(n int) string { return strings.Repeat("7", n) }
	for _, c := range []struct {
		data   string
		kind   string // "" for strict JSON
		offset int64
		path   string
	}{
		{data: `{}`}, {data: ` [1, -0.5e+3, "é\ud83d\ude00\n", true, false, null] `}, {data: `"\u212a"`}, {data: `0`},
		{data: deep(MaxDepth)}, {data: digits(MaxNumber)}, {data: `1e400`}, {data: `1e-0400`}, {data: `{"a":1,"b":{"a":1}}`},

		{data: ``, kind: KindSyntax}, {data: " \n", kind: KindSyntax, offset: 2},
		{data: `{"mode": fst"}`, kind: KindSyntax, offset: 10, path: "/mode"},
		{data: `{"a":1,}`, kind: KindSyntax, offset: 7}, {data: `[1,]`, kind: KindSyntax, offset: 3, path: "/1"},
		{data: `{a:1}`, kind: KindSyntax, offset: 1}, {data: `{'a':1}`, kind: KindSyntax, offset: 1}, {data: `{"a" 1}`, kind: KindSyntax, offset: 5, path: "/a"},
		{data: `[1 2]`, kind: KindSyntax, offset: 3}, {data: `01`, kind: KindSyntax}, {data: `+1`, kind: KindSyntax}, {data: `.5`, kind: KindSyntax}, {data: `1.x`, kind: KindSyntax, offset: 2},
		{data: `NaN`, kind: KindSyntax}, {data: `-Infinity`, kind: KindSyntax, offset: 1}, {data: `Infinity`, kind: KindSyntax}, {data: `True`, kind: KindSyntax},
		{data: "\"a\x01\"", kind: KindSyntax, offset: 2}, {data: `"\x"`, kind: KindSyntax, offset: 1}, {data: `"\u12g4"`, kind: KindSyntax, offset: 5}, {data: "\ufeff{}", kind: KindSyntax},

		{data: `{"content":"line one`, kind: KindTruncated, offset: 20, path: "/content"}, {data: `{"a":1`, kind: KindTruncated, offset: 6}, {data: `{"a":`, kind: KindTruncated, offset: 5, path: "/a"},
		{data: `{"a"`, kind: KindTruncated, offset: 4, path: "/a"}, {data: `{`, kind: KindTruncated, offset: 1}, {data: `[1,`, kind: KindTruncated, offset: 3, path: "/1"}, {data: `tru`, kind: KindTruncated, offset: 3},
		{data: `-`, kind: KindTruncated, offset: 1}, {data: `1.`, kind: KindTruncated, offset: 2}, {data: `1e`, kind: KindTruncated, offset: 2}, {data: `"\`, kind: KindTruncated, offset: 2}, {data: `"\u00`, kind: KindTruncated, offset: 5},
		{data: `"\ud83d`, kind: KindTruncated, offset: 7}, {data: `"\ud83d\u`, kind: KindTruncated, offset: 9}, {data: "\"\xe4\xb8", kind: KindTruncated, offset: 3},

		{data: `{"a":1,"a":2}`, kind: KindDuplicate, offset: 7, path: "/a"}, {data: `{"a":1,"\u0061":2}`, kind: KindDuplicate, offset: 7, path: "/a"}, {data: `[{"b":{"x":1,"x":1}}]`, kind: KindDuplicate, offset: 13, path: "/0/b/x"},
		{data: `{"path":1,"PATH":2}`}, {data: `{"é":1,"É":2}`}, // without a schema nothing is declared
		{data: "\"\xff\"", kind: KindUTF8, offset: 1}, {data: "\xff", kind: KindUTF8}, {data: "\"\xed\xa0\x80\"", kind: KindUTF8, offset: 1}, {data: "\"\xc0\x80\"", kind: KindUTF8, offset: 1},
		{data: `"\ud83d"`, kind: KindSurrogate, offset: 1}, {data: `"\ude00"`, kind: KindSurrogate, offset: 1}, {data: `"\ude00\ude00"`, kind: KindSurrogate, offset: 1}, {data: `"\ud83dx"`, kind: KindSurrogate, offset: 1}, {data: `"\ud83d\n"`, kind: KindSurrogate, offset: 1}, {data: `"\ud83d\u0041"`, kind: KindSurrogate, offset: 1},
		{data: deep(MaxDepth + 1), kind: KindDepth, offset: MaxDepth, path: strings.Repeat("/0", MaxDepth)}, {data: strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1), kind: KindDepth, offset: 5 * MaxDepth, path: strings.Repeat("/a", MaxDepth)}, {data: strings.Repeat(`{"a":`, 100_000), kind: KindDepth, offset: 5 * MaxDepth, path: strings.Repeat("/a", MaxDepth)},
		{data: `"` + strings.Repeat("x", MaxBytes) + `"`, kind: KindSize, offset: MaxBytes},
		{data: digits(MaxNumber + 1), kind: KindNumber}, {data: digits(100_000), kind: KindNumber}, {data: `[1e401]`, kind: KindNumber, offset: 1, path: "/0"}, {data: `1e-401`, kind: KindNumber}, {data: `1e99999999`, kind: KindNumber}, {data: `1e` + digits(100_000), kind: KindNumber},
		{data: `{"a":1}{"b":2}`, kind: KindTrailing, offset: 7}, {data: `1 x`, kind: KindTrailing, offset: 2}, {data: `{}]`, kind: KindTrailing, offset: 2},
	} {
		name := c.data[:min(len(c.data), 40)]
		err := Strict([]byte(c.data))
		switch {
		case c.kind == "" && err != nil:
			t.Errorf("%q: %v", name, err)
		case c.kind != "" && (err == nil || err.Kind != c.kind || err.Offset != c.offset || err.Path != c.path):
			t.Errorf("%q: got %#v\nwant %s at byte %d, path %q", name, err, c.kind, c.offset, c.path)
		}
		if err == nil {
			continue
		}
		if c.kind != KindTruncated && (strings.Contains(err.Message, "truncated") || strings.Contains(err.Message, "unterminated")) {
			t.Errorf("%q: a %s error says %q", name, c.kind, err.Message)
		}
		if len(err.Error()) > maxPath+400 {
			t.Errorf("%q: a message of %d bytes", name, len(err.Error()))
		}
		// Check enforces the same gate on its own.
		if accept.Check([]byte(c.data)) {
			t.Errorf("%q: Check says valid", name)
		}
	}
}

func anyValue(tb testing.TB) *Schema {
	tb.Helper()
	s, err := Compile([]byte(`true`))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestCheckTakesTheLimits: what is just inside the gate's limits is on the fast
// tier, so that the refusals above are not for want of trying.
func TestCheckTakesTheLimits(t *testing.T) {
	s := anyValue(t)
	for name, data := range map[string]string{
		"depth": strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), "digits": strings.Repeat("7", MaxNumber),
		"size": `"` + strings.Repeat("x", MaxBytes-2) + `"`, "exponent": "1e-400", "escapes": `"\ud83d\ude00\u00e9\n\/"`, "names": `{"a":1,"b":{"A":1}}`,
	} {
		if !s.Check([]byte(data)) {
			t.Errorf("%s: unsure", name)
		}
	}
	not, err := Compile([]byte(`{"not":{"type":"string"}}`))
	if err != nil || !not.Check([]byte(`1`)) {
		t.Errorf("not alone: unsure, %v", err)
	}
}

// TestCaseVariants: a name that differs from a declared one only by case is
// refused wherever the declared one could stand, by both tiers.
func TestCaseVariants(t *testing.T) {
	for _, c := range []struct{ schema, data, path string }{
		{`{"properties":{"path":{}}}`, `{"Path":1}`, "/Path"},
		{`{"properties":{"path":{}}}`, `{"path":1}`, ""},
		{`{"properties":{"path":{},"Path":{}}}`, `{"Path":1}`, ""},
		{`{"properties":{"path":{},"Path":{}}}`, `{"Path":1,"path":1}`, "/path"},
		{`{"properties":{"k":{}}}`, "{\"\u212a\":1}", "/\u212a"},
		{`{"properties":{"\u212a":{}}}`, `{"k":1}`, "/k"},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{}}}}}`, `{"A":1}`, "/A"},
		{`{"anyOf":[{},{"properties":{"a":{}}}]}`, `{"A":1}`, "/A"},
		{`{"anyOf":[{"properties":{"x":{"properties":{"a":{}}}}},{"properties":{"x":{"properties":{"b":{}}}}}]}`, `{"x":{"B":1}}`, "/x/B"},
		{`{"anyOf":[{"properties":{"A":{}}},{"properties":{"a":{}}}]}`, `{"A":1}`, ""},
		{`{"anyOf":[{"properties":{"A":{}}},{"properties":{"a":{}}}]}`, `{"A":1,"a":1}`, "/a"},
		{`{"allOf":[{"properties":{"x":{"properties":{"a":{}}}}},{"properties":{"x":{"properties":{"A":{}}}}}]}`, `{"x":{"a":1,"A":2}}`, "/x/A"},
		{`{"if":{"required":["q"]},"then":{"properties":{"a":{}}}}`, `{"A":1}`, "/A"},
		{`{"items":{"properties":{"a":{}}}}`, `[{"a":1},{"A":1}]`, "/1/A"},
		{`{"additionalProperties":{"properties":{"a":{}}}}`, `{"x":{"A":1}}`, "/x/A"},
		{`{"properties":{"a":{"properties":{"b":{}}}}}`, `{"B":1,"a":{"A":1}}`, ""},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"kid":{"$ref":"#/$defs/n"}}}}}`, `{"kid":{"kid":{"KID":{}}}}`, "/kid/kid/KID"},
		{`{"properties":{"a":{}}}`, `{"b":1,"B":2}`, "/B"}, {`{"properties":{"a":{}}}`, `{"é":1,"É":2}`, "/É"},
		{`{"properties":{"a":{}}}`, "{\"k\":1,\"\u212a\":2}", "/\u212a"},
		{`{}`, `{"Path":1,"PATH":2}`, ""}, // a map, not a record: names are data
		{`{"properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`, `{"env":{"Path":"a","PATH":"b"}}`, ""},
		{`{"required":["a"]}`, `{"a":1,"A":2}`, ""},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		_, err = s.Explain([]byte(c.data))
		var bad *SyntaxError
		if refused := errors.As(err, &bad); refused != (c.path != "") || refused && (bad.Kind != KindCaseVariant || bad.Path != c.path) {
			t.Errorf("%s on %s: %v, want a case variant at %q", c.schema, c.data, err, c.path)
		}
		if c.path != "" && s.Check([]byte(c.data)) {
			t.Errorf("%s on %s: Check says valid", c.schema, c.data)
		}
	}
}

// TestCheckIsUnsureOf lists what Check could get wrong by reading bytes instead
// of values; all of it is valid or invalid for the engine to say.
func TestCheckIsUnsureOf(t *testing.T) {
	many := func(n int, f string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(f, i))
		}
		return strings.Join(parts, ",")
	}
	for _, c := range []struct {
		schema, data string
		valid        bool
	}{
		{`{}`, `{` + many(maxOpen+1, `"n%d":1`) + `}`, true},
		{`{}`, `{` + many(maxOpen, `"n%d":1`) + `,"N0":1}`, true},
		{`{"properties":{"a":{}}}`, `{"` + strings.Repeat("x", maxFold+1) + `":1}`, true},
		{`{"uniqueItems":true}`, `[` + many(maxUnique+1, `%d`) + `]`, true},
		{`{"uniqueItems":true}`, `[1,1.0]`, false}, {`{"uniqueItems":true}`, `[0,-0]`, false}, {`{"uniqueItems":true}`, `["a","\u0061"]`, false}, {`{"uniqueItems":true}`, `[{},{}]`, false},
		{`{"enum":["` + strings.Repeat("é", 200) + `"]}`, `"` + strings.Repeat(`\u00e9`, 200) + `"`, true},
		{`{"pattern":"^(é|x)$"}`, `"\u00e9"`, true},
		{`{"type":"integer","maximum":1e18}`, `1234567890123456789`, false},
		{`{"properties":{"a":{}}}`, `{"\u0061":1}`, true},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Fatal(c.schema, err)
		}
		if s.Check([]byte(c.data)) {
			t.Errorf("%s on %.60s: Check says valid", c.schema, c.data)
		}
		if found, err := s.Validate([]byte(c.data)); (err == nil && found == nil) != c.valid {
			t.Errorf("%s on %.60s: %v, %v", c.schema, c.data, found, err)
		}
	}
}

// FuzzStrict holds the gate against jsontext's strict decoder: what only our
// limits refuse apart, both refuse the same bytes.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"é\ud83d\ude00"],"b":null}`, `{"a":1,"a":2}`, `"\ud800"`, `[tru`, `{"a":1}x`, `1e5`, `-0.0`, "\"\xff\"", `{"A":1,"a":1}`, ` `, `"\u0000"`, "[\"\u2028\"]"} {
		f.Add([]byte(s))
	}
	accept := anyValue(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ours := Strict(data)
		dec := jsontext.NewDecoder(bytes.NewReader(data))
		_, theirs := dec.ReadValue()
		if theirs == nil {
			if _, err := dec.ReadToken(); err != io.EOF {
				theirs = errors.New("data after the first value")
			}
		}
		switch {
		case ours == nil && theirs != nil:
			t.Fatalf("%q: Strict accepts, jsontext: %v", data, theirs)
		case ours != nil && theirs == nil:
			switch ours.Kind {
			case KindDepth, KindSize, KindNumber, KindCaseVariant:
			default:
				t.Fatalf("%q: jsontext accepts, Strict: %#v", data, ours)
			}
		}
		if ours != nil && (ours.Offset < 0 || ours.Offset > int64(len(data))) {
			t.Fatalf("%q: offset %d", data, ours.Offset)
		}
		if ours != nil && accept.Check(data) {
			t.Fatalf("%q: Check says valid, Strict: %v", data, ours)
		}
	})
}
