package schema_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/schema"
	"github.com/go-json-experiment/json/jsontext"
)

func ExampleBinds() {
	type args struct {
		UserID string `json:"userid"`
		Age    int8   `json:"age"`
	}
	err := schema.Binds(reflect.TypeFor[args](), []byte(`{"type":"object","properties":{
		"userId": {"type":"string"},
		"age":    {"type":"integer","minimum":0}}}`))
	fmt.Println(err)
	// Output:
	// schema: /properties/age: the schema admits integers over 127, which schema_test.args.Age (int8) cannot hold: set maximum
	// schema: /properties/userId: the schema declares "userId" but schema_test.args.UserID is named "userid": names are matched exactly
}

type bindArgs struct {
	S     string         `json:"s"`
	B     bool           `json:"b"`
	I8    int8           `json:"i8"`
	I64   int64          `json:"i64"`
	I     int            `json:"i"`
	U     uint           `json:"u"`
	F     float64        `json:"f"`
	L     []string       `json:"l"`
	Two   [2]bool        `json:"two"`
	M     map[string]int `json:"m"`
	P     *point         `json:"p"`
	Any   any            `json:"any"`
	Raw   jsontext.Value `json:"raw"`
	T     time.Time      `json:"t"`
	D     time.Duration  `json:"d"`
	Bytes []byte         `json:"bytes"`
	Addr  netip.Addr     `json:"addr"`
	Odd   odd            `json:"odd"`
	Str   int            `json:"str,string"`
	Fold  string         `json:"fold_me,case:ignore"`
	Chan  chan int       `json:"chan"`
	Level level          `json:"level"`
	Next  *bindArgs      `json:"next"`
}

func TestBinds(t *testing.T) {
	for _, c := range []struct{ property, schema, want string }{
		// JSON types and Go kinds
		{"s", `{"type":"string"}`, ""},
		{"s", `{"type":"integer"}`, "/properties/s: the schema admits integer, schema_test.bindArgs.S (string) binds only string"},
		{"s", `{"type":["string","null"]}`, ""},
		{"s", `{"type":["string","integer"]}`, "admits integer"},
		{"s", `{}`, "admits any JSON"},
		{"s", `true`, "admits any JSON"},
		{"s", `{"description":"A name."}`, "admits any JSON"},
		{"s", `false`, ""},
		{"s", `{"minLength":1}`, ""}, // unsure: whoever wrote it meant a string
		{"s", `{"enum":["a","b"]}`, ""},
		{"s", `{"enum":["a",1]}`, "admits 1"},
		{"s", `{"type":"string","enum":["a",1]}`, ""},
		{"s", `{"enum":["a",1],"not":{"type":"integer"}}`, ""},
		{"s", `{"const":1}`, "admits 1"},
		{"s", `{"const":null}`, ""},
		{"b", `{"type":"boolean"}`, ""},
		{"b", `{"type":"string"}`, "admits string"},
		{"f", `{"type":"number"}`, ""},
		{"f", `{"type":"integer"}`, ""},
		{"any", `{}`, ""},
		{"raw", `{"type":["string","array"]}`, ""},
		{"odd", `{"type":"string"}`, ""}, // has methods of its own
		{"addr", `{"type":"string"}`, ""},
		{"addr", `{"type":"object"}`, "admits object"},
		{"str", `{"type":"string"}`, ""},
		{"d", `{"type":"integer"}`, "(time.Duration) has no JSON form"},
		{"chan", `{"type":"integer"}`, "(chan int) has no JSON form"},
		{"t", `{"type":"string","format":"date-time"}`, ""},
		{"t", `{"type":"string"}`, "binds only RFC 3339"},
		{"t", `{"type":"integer"}`, "admits integer"},
		{"bytes", `{"type":"string","contentEncoding":"base64"}`, ""},
		{"bytes", `{"type":"string"}`, "binds only base64"},
		{"bytes", `{"type":"array"}`, "admits array"},
		{"level", `{"type":"string"}`, ""},

		// integers
		{"i8", `{"type":"integer","minimum":-128,"maximum":127}`, ""},
		{"i8", `{"type":"integer","exclusiveMinimum":-129,"exclusiveMaximum":128}`, ""},
		{"i8", `{"type":"integer","minimum":0,"exclusiveMinimum":-1000,"maximum":1e2}`, ""},
		{"i8", `{"type":"integer"}`, "below -128 and over 127"},
		{"i8", `{"type":"integer","minimum":-128}`, "over 127"},
		{"i8", `{"type":"integer","minimum":-129,"maximum":1}`, "below -128"},
		{"i8", `{"type":"integer","minimum":0,"maximum":128}`, "over 127"},
		{"i8", `{"type":"integer","minimum":0,"exclusiveMaximum":128.5}`, "over 127"},
		{"i8", `{"type":"integer","minimum":0,"maximum":1e999999999}`, ""}, // unsure: too large to be made exact
		{"i8", `{"enum":[1,2]}`, ""},
		{"i8", `{"enum":[1,200]}`, "admits 200"},
		{"i8", `{"type":"integer","enum":[1,2.0]}`, ""},
		{"i8", `{"type":"number","minimum":0,"maximum":9}`, "admits number"},
		{"i8", `{"type":"number","multipleOf":1,"minimum":0,"maximum":9}`, ""},
		{"i64", `{"type":"integer"}`, ""},
		{"i64", `{"type":"number"}`, "admits number"},
		{"i64", `{"type":"integer","maximum":9223372036854775807}`, ""},
		{"i64", `{"type":"integer","maximum":9223372036854775808}`, "over 9223372036854775807"},
		{"i", `{"type":"integer"}`, ""},
		{"u", `{"type":"integer","minimum":0}`, ""},
		{"u", `{"type":"integer"}`, "below 0"},
		{"u", `{"type":"integer","minimum":-1}`, "below 0"},

		// containers
		{"l", `{"type":"array","items":{"type":"string"}}`, ""},
		{"l", `{"type":"array"}`, ""},
		{"l", `{"type":"array","items":{"type":"integer"}}`, "/properties/l/items: the schema admits integer, schema_test.bindArgs.L[] (string)"},
		{"l", `{"type":"array","items":{}}`, "/properties/l/items: the schema admits any JSON"},
		{"l", `{"type":"array","prefixItems":[{"type":"string"},{"type":"boolean"}]}`, "/properties/l/prefixItems/1"},
		{"two", `{"type":"array","minItems":2,"maxItems":2}`, ""},
		{"two", `{"type":"array","minItems":2,"prefixItems":[{"type":"boolean"},{"type":"boolean"}],"items":false}`, ""},
		{"two", `{"type":"array","maxItems":2}`, "other lengths than 2"},
		{"m", `{"type":"object","additionalProperties":{"type":"integer"}}`, ""},
		{"m", `{"type":"object"}`, ""},
		{"m", `{"type":"object","additionalProperties":{"type":"string"}}`, "/properties/m/additionalProperties"},
		{"m", `{"type":"object","properties":{"a/b":{"type":"string"}}}`, "/properties/m/properties/a~1b"},
		{"m", `{"type":"object","patternProperties":{"^x":{"type":"string"}}}`, "/properties/m/patternProperties/^x"},
		{"p", `{"type":"object","properties":{"X":{"type":"integer","minimum":0,"maximum":9}}}`, ""},
		{"p", `{"type":["object","null"],"properties":{"x":{"type":"integer"}}}`, `declares "x" but schema_test.bindArgs.P.X is named "X"`},
		{"p", `{"type":"object","properties":{"Z":{"type":"integer"}}}`, `declares "Z", schema_test.bindArgs.P has no field for it`},
		{"p", `{"type":"object","properties":{"Z":false}}`, ""},
		{"p", `{"type":"object","additionalProperties":{"type":"string"}}`, "has no embedded map"},
		{"p", `{"type":"object","additionalProperties":true}`, ""},
		{"p", `{"type":"object","additionalProperties":{}}`, ""},
		{"p", `{"type":"object","patternProperties":{"^x":{}}}`, "has no embedded map"},
		{"FoldMe", `{"type":"string"}`, ""},
		{"unknown", `{"type":"string"}`, `declares "unknown", schema_test.bindArgs has no field for it`},
		{"S", `{"type":"string"}`, `declares "S" but schema_test.bindArgs.S is named "s"`},
		{"next", `{"type":"object","properties":{"next":{"type":"object","properties":{"s":{"type":"boolean"}}}}}`,
			"/properties/next/properties/next/properties/s: the schema admits boolean, schema_test.bindArgs.Next.Next.S"},

		// references and alternatives
		{"next", `{"$ref":"#"}`, ""},
		{"s", `{"$ref":"#/$defs/word"}`, ""},
		{"b", `{"$ref":"#/$defs/word"}`, "/$defs/word: the schema admits string, schema_test.bindArgs.B"},
		{"b", `{"$ref":"#/$defs/word","type":"boolean"}`, ""},
		{"b", `{"$ref":"#/$defs/nowhere"}`, ""},
		{"b", `{"$ref":"#/$defs/again"}`, ""},
		{"s", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, ""},
		{"s", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, "/properties/s/anyOf/1"},
		{"s", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, "/properties/s/oneOf/1"},
		{"s", `{"oneOf":[{"type":["string","integer"]},{"type":"integer"}]}`, ""},
		{"s", `{"anyOf":[{"type":"string"},{"type":"integer"}],"type":"string"}`, ""},
		{"s", `{"allOf":[{"type":"integer"}]}`, ""}, // unsure
		{"s", `{"$id":"http://x/y","$ref":"#/$defs/number"}`, ""},
		{"s", `{"type":["string","integer"],"not":{"type":"integer"}}`, ""},
		{"s", `{"type":["string","integer"],"if":true,"then":{"type":"string"}}`, ""},
	} {
		t.Run(c.property+" "+c.schema, func(t *testing.T) {
			whole := `{"type":"object","$defs":{"word":{"type":"string"},"again":{"$ref":"#/$defs/again"}},"properties":{"` + c.property + `":` + c.schema + `}}`
			err := schema.Binds(reflect.TypeFor[*bindArgs](), []byte(whole))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("a false alarm: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("got %v\nwant one fault: %s", err, c.want)
			}
		})
	}
}

func TestBindsAtTheRoot(t *testing.T) {
	type rest struct {
		A    string         `json:"a"`
		Rest map[string]int `json:",embed"`
	}
	type raw struct {
		Rest jsontext.Value `json:",embed"`
	}
	type broken struct {
		A string `json:"a,omitEmpty"` //lint:ignore SA5008 the slip is the point
	}
	for _, c := range []struct {
		typ          reflect.Type
		schema, want string
	}{
		{reflect.TypeFor[bindArgs](), `{"properties":{"s":{"type":"string"}}}`, ""}, // arguments are objects
		{reflect.TypeFor[bindArgs](), `{"properties":{"s":{"type":"integer"}}}`, "/properties/s"},
		{reflect.TypeFor[bindArgs](), `{}`, ""},
		{reflect.TypeFor[bindArgs](), `true`, ""},
		{reflect.TypeFor[bindArgs](), `{"type":"array"}`, "the root: the schema admits array"},
		{reflect.TypeFor[bindArgs](), `{"type":"object","properties":{"s":{"type":"integer"}},"oneOf":[{"required":["s"]},{"required":["b"]}]}`, ""},
		{reflect.TypeFor[rest](), `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"additionalProperties":{"type":"integer"}}`, ""},
		{reflect.TypeFor[rest](), `{"type":"object","properties":{"b":{"type":"string"}}}`, "/properties/b: the schema admits string"},
		{reflect.TypeFor[rest](), `{"type":"object","additionalProperties":{"type":"string"}}`, "/additionalProperties: the schema admits string"},
		{reflect.TypeFor[raw](), `{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":{"type":"string"}}`, ""},
		{reflect.TypeFor[broken](), `{"type":"object","properties":{"a":{"type":"string"}}}`, "omitEmpty"},
		{reflect.TypeFor[any](), `{"type":"object"}`, ""},
		{reflect.TypeFor[map[string]any](), `{"type":"object","properties":{"a":{}}}`, ""},
		{nil, `{}`, "no Go type"},
		{reflect.TypeFor[bindArgs](), `{`, "not JSON"},
	} {
		t.Run(fmt.Sprint(c.typ, c.schema), func(t *testing.T) {
			err := schema.Binds(c.typ, []byte(c.schema))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %q", err, c.want)
			}
		})
	}
}

func TestBindsTellsSixteenFaults(t *testing.T) {
	text := `{"properties":{"s":true`
	for i := range 40 {
		text += fmt.Sprintf(`,"no%d":{}`, i)
	}
	err := schema.Binds(reflect.TypeFor[bindArgs](), []byte(text+"}}"))
	if n := len(strings.Split(err.Error(), "\n")); n != 16 {
		t.Errorf("%d faults in one error", n)
	}
}

// Binds comes to an end on any schema, also on one that no compiler would take.
func FuzzBinds(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"i8":{"type":"integer"},"s":{"$ref":"#/properties/i8"}}}`))
	f.Add([]byte(`{"properties":{"next":{"$ref":"#"},"l":{"items":{"anyOf":[{"type":"string"},{"const":1}]}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_ = schema.Binds(reflect.TypeFor[bindArgs](), raw)
	})
}
