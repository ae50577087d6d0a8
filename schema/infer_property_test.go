package schema_test

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Two properties hold an inferred schema and its Go type together, on random types:
// what the schema admits binds, and what a value of the type marshals to is admitted.

func TestWhatTheSchemaAdmitsBinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		typ := randomStruct(rng, 3)
		raw, err := schema.ForType(typ)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		s := mustCompile(t, string(raw))
		for range 10 {
			data := []byte(randomInstance(rng, raw, raw, 4))
			if found, err := s.Validate(data); err != nil || len(found) > 0 {
				t.Fatalf("the generator made an instance that is not valid: %s\nof %s\n%v %v", data, raw, found, err)
			}
			if err := schema.Bind(data, reflect.New(typ).Interface()); err != nil {
				t.Fatalf("%s\nis admitted by %s\nbut does not bind: %v", data, raw, err)
			}
		}
	}
}

func TestWhatTheTypeMarshalsIsAdmitted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		typ := randomStruct(rng, 3)
		raw, err := schema.ForType(typ)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		s := mustCompile(t, string(raw))
		for n := range 10 {
			v := reflect.New(typ)
			if n > 0 { // the first is the zero value: nil slices, maps and pointers
				fill(rng, v.Elem(), 4)
			}
			data, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if found, err := s.Validate(data); err != nil || len(found) > 0 {
				t.Fatalf("%s\nwas marshalled from %v\nbut %s\nrefuses it: %v %v", data, typ, raw, found, err)
			}
			back := reflect.New(typ)
			if err := schema.Bind(data, back.Interface()); err != nil {
				t.Fatalf("%s does not bind back: %v", data, err)
			}
			if again, err := json.Marshal(back.Interface(), json.Deterministic(true)); err != nil || !sameJSON(again, data) {
				t.Fatalf("%s came back as %s %v", data, again, err)
			}
			if err := schema.Binds(typ, raw); err != nil {
				t.Fatalf("Binds doubts its own schema %s\n%v", raw, err)
			}
		}
	}
}

// sameJSON compares two texts, null members apart: a pointer to a nil pointer comes back as a nil pointer, which omitzero leaves out.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(withoutNulls(x), withoutNulls(y))
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if v[name] = withoutNulls(member); member == nil {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// recursive is a type that reflect.StructOf cannot make.
type recursive struct {
	Name string               `json:"name"`
	Next *recursive           `json:"next,omitempty"`
	Kids []recursive          `json:"kids"`
	By   map[string]recursive `json:"by,omitempty"`
}

var scalarTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
	reflect.TypeFor[int64](), reflect.TypeFor[uint8](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	reflect.TypeFor[[]byte](), reflect.TypeFor[[0]byte](), reflect.TypeFor[[4]byte](), reflect.TypeFor[[5]byte](), reflect.TypeFor[[6]byte](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[any](), reflect.TypeFor[jsontext.Value](), reflect.TypeFor[recursive](), reflect.TypeFor[xy](), reflect.TypeFor[octet](), reflect.TypeFor[mood](),
}

type xy struct{ X, Y int8 }

func randomType(rng *rand.Rand, depth int) reflect.Type {
	if depth == 0 {
		return scalarTypes[rng.IntN(len(scalarTypes))]
	}
	switch rng.IntN(8) {
	case 0:
		return reflect.SliceOf(randomType(rng, depth-1))
	case 1:
		return reflect.MapOf(reflect.TypeFor[string](), randomType(rng, depth-1))
	case 2:
		return reflect.PointerTo(randomType(rng, depth-1))
	case 3:
		return reflect.ArrayOf(rng.IntN(3), randomType(rng, depth-1))
	case 4:
		return randomStruct(rng, depth-1)
	}
	return scalarTypes[rng.IntN(len(scalarTypes))]
}

func randomStruct(rng *rand.Rand, depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range rng.IntN(5) {
		options := []string{"", ",omitempty", ",omitzero", ",case:ignore"}[rng.IntN(4)]
		name := []string{"a", "b/~c", "D", "é", "$ref"}[i]
		fields = append(fields, reflect.StructField{
			Name: "F" + strconv.Itoa(i), Type: randomType(rng, depth),
			Tag: reflect.StructTag(fmt.Sprintf(`json:"%s%s" description:"no %d"`, name, options, i)),
		})
	}
	return reflect.StructOf(fields)
}

// fill sets v to a random value that has a JSON form.
func fill(rng *rand.Rand, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case mood:
		v.SetString([]string{"", "up"}[rng.IntN(2)])
		return
	case time.Time:
		zone := time.FixedZone("", (rng.IntN(2*24*60-2)-24*60+1)*60)
		v.Set(reflect.ValueOf(time.Unix(rng.Int64N(300e9)-60e9, rng.Int64N(1e9)).In(zone)))
		return
	case jsontext.Value:
		v.SetBytes([]byte(randomJSON(rng, 2)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.String:
		v.SetString(randomText(rng))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(rng.Uint64()) >> rng.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(rng.Uint64() >> rng.IntN(64) >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat([]float64{0, -1.5, math.MaxFloat32, -math.MaxFloat32, rng.NormFloat64()}[rng.IntN(5)])
	case reflect.Float64:
		v.SetFloat([]float64{0, -1.5, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, rng.NormFloat64()}[rng.IntN(6)])
	case reflect.Interface:
		v.Set(reflect.ValueOf(randomText(rng)))
	case reflect.Pointer:
		if depth > 0 && rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rng, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), rng.IntN(3), 3))
		}
		for i := range v.Len() {
			fill(rng, v.Index(i), depth-1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(rng, v.Index(i), depth-1)
		}
	case reflect.Map:
		if depth <= 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for i := range rng.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(rng, e, depth-1)
			v.SetMapIndex(reflect.ValueOf("k"+strconv.Itoa(i)), e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rng, v.Field(i), depth-1)
		}
	}
}

func randomText(rng *rand.Rand) string {
	return []string{"", "a", "é\u2028\x00\"\\", "[1]", "null", strings.Repeat("𝄞", 3)}[rng.IntN(6)]
}

func randomJSON(rng *rand.Rand, depth int) string {
	switch n := rng.IntN(6); {
	case n == 0 && depth > 0:
		return "[" + randomJSON(rng, depth-1) + "]"
	case n == 1 && depth > 0:
		return `{"x":` + randomJSON(rng, depth-1) + "}"
	case n == 2:
		return "null"
	case n == 3:
		return "1.50"
	}
	return string(jsonText(randomText(rng)))
}

func jsonText(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s)
	return b
}

// randomInstance makes a valid instance from the schema alone: it knows JSON Schema, not Go.
func randomInstance(rng *rand.Rand, root, raw jsontext.Value, depth int) string {
	var k struct {
		Type       jsontext.Value
		Enum       []jsontext.Value
		AnyOf      []jsontext.Value
		Ref        string `json:"$ref"`
		Properties jsontext.Value
		Required   []string
		Items      jsontext.Value
		MinItems   int
		MaxItems   *int
		Minimum    jsontext.Value
		Maximum    jsontext.Value
		MinLength  int
		Pattern    string
		Additional jsontext.Value `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &k, json.MatchCaseInsensitiveNames(true)); err != nil {
		panic(fmt.Sprintf("%s: %v", raw, err))
	}
	switch {
	case k.Ref == "#":
		return randomInstance(rng, root, root, depth-1)
	case k.Ref != "":
		var defs struct {
			Defs map[string]jsontext.Value `json:"$defs"`
		}
		if err := json.Unmarshal(root, &defs); err != nil {
			panic(err)
		}
		return randomInstance(rng, root, defs.Defs[strings.TrimPrefix(k.Ref, "#/$defs/")], depth-1)
	case k.AnyOf != nil:
		if depth <= 0 {
			return randomInstance(rng, root, k.AnyOf[len(k.AnyOf)-1], depth) // null stands last
		}
		return randomInstance(rng, root, k.AnyOf[rng.IntN(len(k.AnyOf))], depth)
	case k.Enum != nil:
		return string(k.Enum[rng.IntN(len(k.Enum))])
	case k.Type == nil:
		return randomJSON(rng, 2)
	}
	typ := strings.Trim(string(k.Type), `"`)
	if k.Type.Kind() == '[' {
		var types []string
		if err := json.Unmarshal(k.Type, &types); err != nil {
			panic(err)
		}
		typ = types[rng.IntN(len(types))]
	}
	switch typ {
	case "null":
		return "null"
	case "boolean":
		return []string{"true", "false"}[rng.IntN(2)]
	case "integer":
		lo, _ := new(big.Int).SetString(string(k.Minimum), 10)
		hi, _ := new(big.Int).SetString(string(k.Maximum), 10)
		n := new(big.Int).SetUint64(rng.Uint64() >> rng.IntN(64))
		n.Mod(n, new(big.Int).Add(new(big.Int).Sub(hi, lo), big.NewInt(1))).Add(n, lo)
		text := []string{lo.String(), hi.String(), n.String()}[rng.IntN(3)]
		return text + []string{"", "", ".0", "e0", ".00E+0"}[rng.IntN(5)] // an integer by the specification, section 6.1.1 of the vocabulary
	case "number":
		return []string{string(k.Minimum), string(k.Maximum), "0", "-0", "1e-400", "0.1", "3"}[rng.IntN(7)]
	case "string":
		return randomString(rng, k.Pattern, k.MinLength)
	case "array":
		n := k.MinItems
		if k.MaxItems == nil && depth > 0 {
			n += rng.IntN(3)
		}
		var items []string
		for range n {
			items = append(items, randomInstance(rng, root, k.Items, depth-1))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	var members []string
	if k.Properties != nil {
		dec := jsontext.NewDecoder(strings.NewReader(string(k.Properties)))
		dec.ReadToken()
		for dec.PeekKind() == '"' {
			name, _ := dec.ReadToken()
			key := name.String()
			value, _ := dec.ReadValue()
			value = value.Clone()
			required := false
			for _, r := range k.Required {
				required = required || r == key
			}
			if required || depth > 0 && rng.IntN(2) == 0 {
				members = append(members, string(jsonText(key))+": "+randomInstance(rng, root, value, depth-1))
			}
		}
	} else if depth > 0 {
		for i := range rng.IntN(3) {
			extra := "0"
			if k.Additional != nil {
				extra = randomInstance(rng, root, k.Additional, depth-1)
			}
			members = append(members, fmt.Sprintf(`"key%d":%s`, i, extra))
		}
	}
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// randomString knows the two patterns that inference writes, by what they are for.
func randomString(rng *rand.Rand, pattern string, length int) string {
	switch {
	case strings.Contains(pattern, "A-Za-z0-9+/"):
		size := rng.IntN(8)
		if length > 0 || !strings.Contains(pattern, ")?") { // an array: its length says how many bytes
			size = length / 4 * 3
			if strings.HasSuffix(pattern, "{2}==$") {
				size -= 2
			} else if strings.HasSuffix(pattern, "{3}=$") {
				size--
			}
		}
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`
	case strings.Contains(pattern, "T(?:"):
		year := []int{0, 1900, 2000, 2023, 2024, 9999}[rng.IntN(6)]
		day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rng.IntN(365)).Format("2006-01-02")
		return `"` + day + []string{"T00:00:00Z", "T23:59:59.123456789123+23:59", "T12:30:00.5-00:00"}[rng.IntN(3)] + `"`
	case pattern != "":
		panic("no generator for " + pattern)
	}
	return string(jsonText(randomText(rng)))
}

// The pattern of a moment agrees with the binding on every day of every kind of year, and beyond.
func TestTimePattern(t *testing.T) {
	s := mustCompile(t, string(must(schema.For[time.Time]())))
	check := func(text string) {
		data := jsonText(text)
		var v time.Time
		found, err := s.Validate(data)
		if admits, binds := err == nil && len(found) == 0, schema.Bind(data, &v) == nil; admits != binds {
			t.Errorf("%s: the schema admits it: %v, it binds: %v", text, admits, binds)
		}
	}
	for _, year := range []string{"0000", "0004", "0100", "0400", "1900", "2000", "2023", "2024", "2100", "2400", "9996", "9999", "999", "10000", "-001"} {
		for month := range 14 {
			for day := range 33 {
				check(fmt.Sprintf("%s-%02d-%02dT00:00:00Z", year, month, day))
			}
		}
	}
	for _, text := range []string{
		"", "2024-01-01", "2024-01-01T24:00:00Z", "2024-01-01T23:60:00Z", "2024-01-01T23:59:60Z", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00z",
		"2024-01-01 00:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+23:60", "2024-01-01T00:00:00-23:59",
		"2024-01-01T00:00:00.Z", "2024-01-01T00:00:00,5Z", "2024-01-01T0:00:00Z", "2024-1-01T00:00:00Z", "2024-01-01T00:00:00Z\n", "\u0662024-01-01T00:00:00Z",
		"2024-01-01T00:00:00.1234567890123456789Z", "2024-01-01T00:00:00+0000", "2024-01-01T00:00:00+00:00Z",
	} {
		check(text)
	}
}

// The pattern of bytes agrees with the binding on every short string over the interesting characters.
func TestBase64Pattern(t *testing.T) {
	slice := mustCompile(t, string(must(schema.For[[]byte]())))
	three := mustCompile(t, string(must(schema.For[[3]byte]())))
	two := mustCompile(t, string(must(schema.For[[2]byte]())))
	one := mustCompile(t, string(must(schema.For[[1]byte]())))
	none := mustCompile(t, string(must(schema.For[[0]byte]())))
	const alphabet = "A/=-\n"
	for n := range 5*5*5*5*5 + 1 {
		text := ""
		for ; n > 0; n /= 5 {
			text += alphabet[n%5 : n%5+1]
		}
		data := jsonText(text)
		for _, c := range []struct {
			s *schema.Schema
			v any
		}{{slice, new([]byte)}, {three, new([3]byte)}, {two, new([2]byte)}, {one, new([1]byte)}, {none, new([0]byte)}} {
			found, err := c.s.Validate(data)
			if admits, binds := err == nil && len(found) == 0, schema.Bind(data, c.v) == nil; admits != binds {
				t.Errorf("%s into %T: the schema admits it: %v, it binds: %v", data, c.v, admits, binds)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// mood describes itself, its zero value included.
type mood string

func (mood) JSONSchema() []byte { return []byte(`{"type":"string","enum":["","up"]}`) }
