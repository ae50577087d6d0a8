package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// maker draws schemas and values from a stream of bytes, so that a fuzzer can
// steer it. When the stream is used up every choice is the first one.
type maker struct {
	bytes []byte
	i     int
	names []string
}

func (m *maker) pick(n int) int {
	if m.i >= len(m.bytes) || n <= 1 {
		return 0
	}
	b := int(m.bytes[m.i])
	m.i++
	return b % n
}

func (m *maker) of(list ...string) string { return list[m.pick(len(list))] }

// The pools hold what two readers are likely to disagree about.
func (m *maker) name() string {
	if m.names == nil { // few, so that schema and value meet
		m.names = [][]string{{`"a"`, `"b"`, `"c"`, `"foo"`}, {`"foo"`, `"Foo"`, `"FOO"`, `"a"`}, {`"é"`, `"É"`, `"a"`, `"A"`}, {`"k"`, "\"\u212a\"", `"a"`, `"\u0061"`}, {`"s"`, "\"\u017f\"", `""`, `"a/b~c"`}}[m.pick(5)]
	}
	return m.of(m.names...)
}

func (m *maker) number() string {
	return m.of("0", "1", "2", "-1", "3", "-0", "1.0", "1e0", "10e-1", "0.1", "0.5", "1.5", "0.3", "2.50", "100", "1e2", "9007199254740993", "9007199254740992.0",
		"123456789012345678", "1234567890123456789", "12345678901234567890123", "1e17", "1e18", "1e400", "1e-400", "1e401", "0e9", "0.0000000000000000001", "-2.5", "0.30000000000000004", "01", "1.", "-")
}

func (m *maker) text() string {
	return m.of(`"a"`, `""`, `"ab"`, `"abc"`, `"foo"`, `"é"`, `"\u00e9"`, `"😀"`, `"\ud83d\ude00"`, `"\ud83d"`, `"A-1"`, `"a\nb"`, `"1"`, `"true"`, `"\\"`, "\"\xff\"", "\"\t\"", `"`+strings.Repeat("x", 300)+`"`, `"\u0041`+strings.Repeat("y", 300)+`"`)
}

func (m *maker) scalar() string {
	switch m.pick(5) {
	case 0:
		return m.text()
	case 1:
		return m.number()
	default:
		return m.of("null", "true", "false", `"a"`, "1")
	}
}

func (m *maker) value(depth int) string {
	if depth <= 0 {
		return m.scalar()
	}
	switch m.pick(4) {
	case 0:
		var members []string
		for range m.pick(5) {
			members = append(members, m.name()+m.of(":", " : ")+m.value(depth-1))
		}
		return "{" + strings.Join(members, m.of(",", " ,\n")) + "}"
	case 1:
		var items []string
		for range m.pick(5) {
			items = append(items, m.value(depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return m.scalar()
}

// strictScalar is a scalar that may stand in a schema.
func (m *maker) strictScalar() string {
	for range 4 {
		if s := m.scalar(); Strict([]byte(s)) == nil {
			return s
		}
	}
	return "1"
}

func (m *maker) schemas(depth int) string {
	list := []string{m.schema(depth)}
	for range m.pick(3) {
		list = append(list, m.schema(depth))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (m *maker) named(depth int) string {
	seen := map[string]bool{}
	var list []string
	for range 1 + m.pick(3) {
		n := m.name()
		var plain string
		if json.Unmarshal([]byte(n), &plain) != nil || seen[plain] {
			continue
		}
		seen[plain] = true
		list = append(list, n+":"+m.schema(depth))
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (m *maker) schema(depth int) string {
	if depth <= 0 {
		return m.of(`{"type":"string"}`, `true`, `false`, `{"type":"integer"}`, `{"type":["string","null"]}`, `{"const":"a"}`, `{"enum":["a",1,null]}`, `{"minLength":2}`, `{"type":"object"}`, `{"required":["a"]}`)
	}
	var words []string
	used := map[string]bool{}
	for range 1 + m.pick(5) {
		var k, v string
		switch m.pick(34) {
		case 0, 1, 2:
			k, v = "properties", m.named(depth-1)
		case 3:
			k, v = "type", m.of(`"object"`, `"string"`, `"integer"`, `"number"`, `"array"`, `"null"`, `"boolean"`, `["string","null"]`, `["integer","number"]`, `["object","array"]`)
		case 4:
			k, v = "required", m.of(`["a"]`, `["foo"]`, `["a","b"]`, `["é","k"]`, `[]`)
		case 5:
			k, v = "additionalProperties", m.of("false", "true", m.schema(depth-1))
		case 6:
			k, v = "items", m.schema(depth-1)
		case 7:
			k, v = "prefixItems", m.schemas(depth-1)
		case 8:
			k, v = "enum", "["+m.strictScalar()+","+m.strictScalar()+`,"foo"]`
		case 9:
			k, v = "const", m.of(m.strictScalar(), `{"a":1}`, `[1]`)
		case 10:
			k, v = "minimum", m.of("0", "1", "0.1", "1.5", "-1", "9007199254740993", "1e30")
		case 11:
			k, v = "maximum", m.of("1", "2", "0.3", "100", "9007199254740992", "1e-30")
		case 12:
			k, v = "exclusiveMinimum", m.of("0", "0.1", "1")
		case 13:
			k, v = "exclusiveMaximum", m.of("2", "0.3", "10")
		case 14:
			k, v = "multipleOf", m.of("1", "2", "0.1", "0.01", "0.5", "1e-20", "3")
		case 15:
			k, v = "minLength", m.of("1", "2", "0", "2.0")
		case 16:
			k, v = "maxLength", m.of("1", "2", "299", "0")
		case 17:
			k, v = "pattern", m.of(`"^a"`, `"^[a-z]+$"`, `"^[a-z]{2,3}$"`, `"^(?!x)"`, `"é"`, `"^.$"`)
		case 18:
			k, v = "patternProperties", `{`+m.of(`"^f"`, `"o$"`, `"^(?=a)"`, `"."`)+`:`+m.schema(depth-1)+`}`
		case 19:
			k, v = "propertyNames", m.schema(depth-1)
		case 20:
			k, v = "minProperties", m.of("1", "2")
		case 21:
			k, v = "maxProperties", m.of("1", "2", "0")
		case 22:
			k, v = "minItems", m.of("1", "2")
		case 23:
			k, v = "maxItems", m.of("1", "2", "0")
		case 24:
			k, v = "uniqueItems", "true"
		case 25:
			k, v = "anyOf", m.schemas(depth-1)
		case 26:
			k, v = "oneOf", m.schemas(depth-1)
		case 27:
			k, v = "allOf", m.schemas(depth-1)
		case 28:
			k, v = "not", m.schema(depth-1)
		case 29:
			k, v = "if", m.schema(depth-1)
		case 30:
			k, v = m.of("then", "else"), m.schema(depth-1)
		case 31:
			k, v = "$ref", m.of(`"#/$defs/x"`, `"#/$defs/y"`, `"#"`)
		case 32:
			k, v = m.of("unevaluatedProperties", "unevaluatedItems", "contains", "additionalItems"), m.of("false", m.schema(depth-1))
		case 33:
			k, v = m.of("dependentRequired", "dependentSchemas", "dependencies"), m.of(`{"a":["b"]}`, `{"a":{"required":["b"]}}`)
		}
		if !used[k] {
			used[k] = true
			words = append(words, `"`+k+`":`+v)
		}
	}
	return "{" + strings.Join(words, ",") + "}"
}

func (m *maker) document() string {
	body := strings.TrimPrefix(m.schema(3), "{")
	dialect := m.of("", `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"https://json-schema.org/draft/2019-09/schema",`, `"$schema":"http://json-schema.org/draft-06/schema#",`, `"$schema":"http://json-schema.org/draft-04/schema#",`)
	if !strings.HasSuffix(body, "}") {
		return body
	}
	return `{` + dialect + `"$defs":{"x":` + m.schema(1) + `,"y":` + m.schema(2) + `},` + body
}

// near draws a value that has a chance under schema: it follows properties,
// required, items, enum, const, alternatives and references, and slips now and
// then.
func (m *maker) near(root, schema any, depth int) string {
	s, ok := schema.(map[string]any)
	if !ok || depth <= 0 || m.pick(10) == 9 {
		return m.value(depth)
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := lookup(root, strings.TrimPrefix(ref, "#")); ok {
			return m.near(root, target, depth-1)
		}
	}
	if c, ok := s["const"]; ok {
		return show(c)
	}
	if e, ok := s["enum"].([]any); ok && len(e) > 0 {
		return show(e[m.pick(len(e))])
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if subs, ok := s[k].([]any); ok && len(subs) > 0 && m.pick(3) > 0 {
			return m.near(root, subs[m.pick(len(subs))], depth-1)
		}
	}
	for _, k := range []string{"then", "else", "if", "not"} {
		if sub, ok := s[k]; ok && m.pick(4) == 1 {
			return m.near(root, sub, depth-1)
		}
	}
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	switch t := s["type"]; {
	case t == "object" || t == nil && (props != nil || required != nil):
		var members []string
		seen := map[string]bool{}
		add := func(name string, sub any) {
			if !seen[name] || m.pick(12) == 11 {
				seen[name] = true
				members = append(members, show(name)+":"+m.near(root, sub, depth-1))
			}
		}
		for _, r := range required {
			add(fmt.Sprint(r), props[fmt.Sprint(r)])
		}
		for _, n := range sortedKeys(props) {
			if m.pick(3) > 0 {
				add(n, props[n])
			}
		}
		for range m.pick(3) {
			members = append(members, m.name()+":"+m.near(root, s["additionalProperties"], depth-1))
		}
		return "{" + strings.Join(members, ",") + "}"
	case t == "array" || t == nil && (s["items"] != nil || s["prefixItems"] != nil):
		prefix, _ := s["prefixItems"].([]any)
		var items []string
		for i := range m.pick(4) {
			if i < len(prefix) {
				items = append(items, m.near(root, prefix[i], depth-1))
			} else {
				items = append(items, m.near(root, s["items"], depth-1))
			}
		}
		return "[" + strings.Join(items, ",") + "]"
	case t == "string" || s["pattern"] != nil || s["minLength"] != nil || s["maxLength"] != nil:
		return m.text()
	case t == "integer" || t == "number" || s["minimum"] != nil || s["maximum"] != nil || s["multipleOf"] != nil:
		return m.number()
	case t == "boolean":
		return m.of("true", "false")
	}
	return m.value(depth)
}

// agree checks one schema against some values and reports how often Check was sure.
func agree(t *testing.T, m *maker, values int) (compiled bool, sure int) {
	t.Helper()
	text := m.document()
	s, err := Compile([]byte(text))
	if err != nil {
		var refused *CompileError
		if !errors.As(err, &refused) {
			t.Fatalf("Compile(%s) fails with a %T: %v", text, err, err)
		}
		return false, 0
	}
	root, _ := read([]byte(text), reading{maxBytes: MaxSchemaBytes, keep: true})
	for range values {
		data := []byte(m.near(root, root, 6))
		if m.pick(8) == 1 {
			data = append(data, m.of(" ", "x", "{}", "\n")...)
		}
		found, err := s.Explain(data)
		var bytes *SyntaxError
		if err != nil && !errors.As(err, &bytes) {
			t.Fatalf("Explain fails with a %T: %v\nschema %s\ndata %s", err, err, text, data)
		}
		valid := err == nil && len(found) == 0
		if s.Check(data) {
			sure++
			if !valid {
				t.Fatalf("Check says valid, Explain does not\nschema %s\ndata %s\n%v %v", text, data, found, err)
			}
		}
		if s.fast != nil && valid {
			c := check{d: data, steps: 1 << 20}
			if i := c.value(s.fast, s.root, c.space(0), 1); i == bad {
				t.Fatalf("the scan says certainly not valid, Explain says valid\nschema %s\ndata %s", text, data)
			}
		}
		for _, v := range found {
			if v.Keyword == "" || v.Message == "" || strings.ContainsAny(v.String(), "\n\r") {
				t.Fatalf("a violation without words, or on two lines: %#v\nschema %s\ndata %s", v, text, data)
			}
		}
		again, err2 := s.Validate(data)
		if fmt.Sprint(found, err) != fmt.Sprint(again, err2) {
			t.Fatalf("Validate and Explain differ\nschema %s\ndata %s\n%v %v\n%v %v", text, data, found, err, again, err2)
		}
	}
	return true, sure
}

// TestCheckAgrees is the fuzz target's property on a fixed set of random inputs.
func TestCheckAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compiled, sure := 0, 0
	const rounds, values = 4000, 12
	for range rounds {
		seed := make([]byte, 60+r.IntN(400))
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		ok, n := agree(t, &maker{bytes: seed}, values)
		if ok {
			compiled++
		}
		sure += n
	}
	t.Logf("%d of %d schemas compiled; Check was sure of %d of %d values", compiled, rounds, sure, compiled*values)
	if compiled < rounds/4 || sure < compiled {
		t.Errorf("the generator says too little: %d schemas compiled, %d sure answers", compiled, sure)
	}
}

// FuzzCheckAgainstEngine looks for a schema and a value of which Check says valid
// and Explain does not.
func FuzzCheckAgainstEngine(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 64 {
		seed := make([]byte, 200)
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		agree(t, &maker{bytes: seed}, 4)
	})
}
