package schema_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/schema"
	"github.com/go-json-experiment/json/jsontext"
)

type (
	point struct{ X, Y int8 }
	node  struct {
		Name string  `json:"name"`
		Kids []*node `json:"kids,omitempty"`
	}
	list  []list
	paged struct {
		Offset int `json:"offset,omitempty" minimum:"1"`
	}
	celsius float64
	level   string
	octet   byte
	odd     struct{ N int }
)

func (level) JSONSchema() []byte { return []byte(`{ "type": "string", "enum": ["low", "high"] }`) }

func (*odd) UnmarshalJSON([]byte) error { return nil }

const (
	int64Bounds   = `"minimum":-9223372036854775808,"maximum":9223372036854775807`
	float64Bounds = `"minimum":-1.7976931348623157e+308,"maximum":1.7976931348623157e+308`
)

func TestForType(t *testing.T) {
	for _, c := range []struct {
		name string
		of   any
		want string
	}{
		{"a boolean", true, `{"type":"boolean"}`},
		{"a string", "", `{"type":"string"}`},
		{"int8 has its own bounds", int8(0), `{"type":"integer","minimum":-128,"maximum":127}`},
		{"int64 has exact bounds", int64(0), `{"type":"integer",` + int64Bounds + `}`},
		{"uint64 has exact bounds", uint64(0), `{"type":"integer","minimum":0,"maximum":18446744073709551615}`},
		{"a float is finite", 1.5, `{"type":"number",` + float64Bounds + `}`},
		{"a named float is a float", celsius(0), `{"type":"number",` + float64Bounds + `}`},
		{"any takes all", (*any)(nil), `{}`},
		{"raw JSON takes all", jsontext.Value(nil), `{}`},
		{"v1's raw JSON too", json.RawMessage(nil), `{}`},
		{"a slice", []string{}, `{"type":"array","items":{"type":"string"}}`},
		{"an array has one length", [2]bool{}, `{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":2}`},
		{"a map", map[string]bool{}, `{"type":"object","additionalProperties":{"type":"boolean"}}`},
		{"a map of any", map[level]any{}, `{"type":"object"}`},
		{"a list of a named byte is not bytes", []octet{}, `{"type":"array","items":{"type":"integer","minimum":0,"maximum":255}}`},
		{"an address is text", netip.Addr{}, `{"type":"string"}`},
		{"a type that describes itself", level(""), `{"type":"string","enum":["low","high"]}`},
		{"a pointer at the root is looked through", new(*bool), `{"type":"boolean"}`},
		{"a struct is closed", point{}, `{"type":"object","properties":{"X":{"type":"integer","minimum":-128,"maximum":127},` +
			`"Y":{"type":"integer","minimum":-128,"maximum":127}},"required":["X","Y"],"additionalProperties":false}`},
		{"an empty struct", struct{}{}, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"itself below itself", node{}, `{"type":"object","properties":{"name":{"type":"string"},` +
			`"kids":{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}},"required":["name"],"additionalProperties":false}`},
		{"a list of itself", list{}, `{"type":"array","items":{"$ref":"#"}}`},
		{"what is optional", struct {
			A string `json:"a,omitempty"`
			B int8   `json:"b,omitzero"`
			C *bool  `json:"c"`
			D bool   `json:"d"`
			E bool   `json:"-"`
			f bool
		}{}, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":-128,"maximum":127},` +
			`"c":{"type":["boolean","null"]},"d":{"type":"boolean"}},"required":["d"],"additionalProperties":false}`},
		{"embedding promotes, and through a pointer makes optional", struct {
			paged
			*point `json:",embed"`
			X      string
		}{}, `error: pointer to an unexported type`},
		{"the outer field hides the embedded one", struct {
			Outer
			Q string `json:"q"`
		}{}, `{"type":"object","properties":{"only":{"type":"boolean"},"q":{"type":"string"}},"required":["only","q"],"additionalProperties":false}`},
		{"an embedded pointer may be nil", struct{ *Outer }{},
			`{"type":"object","properties":{"only":{"type":"boolean"},"q":{"type":"boolean"}},"additionalProperties":false}`},
		{"an embedded map takes the rest", struct {
			A    bool            `json:"a"`
			Rest map[string]bool `json:",embed"`
		}{}, `{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":{"type":"boolean"}}`},
		{"an embedded value takes the rest", struct {
			A    bool           `json:"a"`
			Rest jsontext.Value `json:",embed"`
		}{}, `{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"]}`},
		{"what is used twice is described once", struct {
			From point  `json:"from" description:"Start."`
			To   *point `json:"to"`
		}{}, `{"type":"object","properties":{"from":{"description":"Start.","$ref":"#/$defs/point"},` +
			`"to":{"anyOf":[{"$ref":"#/$defs/point"},{"type":"null"}]}},"required":["from"],"additionalProperties":false,` +
			`"$defs":{"point":{"type":"object","properties":{"X":{"type":"integer","minimum":-128,"maximum":127},` +
			`"Y":{"type":"integer","minimum":-128,"maximum":127}},"required":["X","Y"],"additionalProperties":false}}}`},
		{"tags of a string", struct {
			S string `json:"s" description:"A word." minLength:"1" maxLength:"9" pattern:"^[a-z]+$"`
		}{}, oneField("s", `{"type":"string","description":"A word.","minLength":1,"maxLength":9,"pattern":"^[a-z]+$"}`)},
		{"tags of an integer narrow its bounds", struct {
			N int64 `json:"n" minimum:"1"`
		}{}, oneField("n", `{"type":"integer","minimum":1,"maximum":9223372036854775807}`)},
		{"tags of a number", struct {
			F float64 `json:"f" minimum:"0" maximum:"0.5"`
		}{}, oneField("f", `{"type":"number","minimum":0,"maximum":0.5}`)},
		{"an enum of strings", struct {
			M string `json:"m" enum:"read only,write"`
		}{}, oneField("m", `{"type":"string","enum":["read only","write"]}`)},
		{"an enum of integers needs no bounds", struct {
			N uint8 `json:"n" enum:"1,2"`
		}{}, oneField("n", `{"type":"integer","enum":[1,2]}`)},
		{"value tags reach the elements", struct {
			L []string `json:"l" minItems:"1" maxItems:"3" enum:"a,b"`
		}{}, oneField("l", `{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":3}`)},
		{"the null of a pointer is in its enum", struct {
			M *string `json:"m" enum:"a"`
		}{}, `{"type":"object","properties":{"m":{"type":["string","null"],"enum":["a",null]}},"additionalProperties":false}`},
		{"any, described", struct {
			A any `json:"a" description:"Anything."`
		}{}, oneField("a", `{"description":"Anything."}`)},
		{"the description of the place wins", struct {
			L described `json:"l" description:"Here."`
		}{}, oneField("l", `{"type":"string","description":"Here."}`)},

		{"a duration", time.Second, "error: time.Duration has no JSON form; use an integer whose name has the unit"},
		{"a channel", struct{ A []chan int }{}, "error: .A[] : chan int has no JSON form"},
		{"a function", struct{ F func() }{}, "error: .F : func() has no JSON form"},
		{"a complex number", 1i, "error: complex128 has no JSON form"},
		{"an interface with methods", struct{ E error }{}, "error: .E : the interface error does not say which type to bind"},
		{"a map with another key", struct{ M map[int]bool }{}, "error: .M : a map needs a plain string key"},
		{"JSON methods", struct{ B *big.Int }{}, "error: .B : big.Int has JSON methods of its own"},
		{"JSON methods on a pointer receiver", odd{}, "error: schema_test.odd has JSON methods of its own"},
		{"text one way only", struct{ T shouted }{}, "error: .T : schema_test.shouted marshals as text but binds as Go's default"},
		{"v1's number", struct{ N json.Number }{}, "error: .N : encoding/json.Number binds from a string only"},
		{"the option string", struct {
			N int `json:"n,string"`
		}{}, "error: .N : the json option string is not supported"},
		{"the option format", struct {
			T time.Time `json:"t,format:DateOnly"`
		}{}, "error: unsupported `format` tag"},
		{"two fields, one name", reflect.Zero(reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
			{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
		})).Interface(), "error: conflict over JSON object name"},
		{"a pointer to itself", struct{ P *loop }{}, "error: .P : *schema_test.loop points to nothing but pointers"},
		{"a self-description that is no object", struct{ T untold }{}, "error: .T : JSONSchema of schema_test.untold is not a JSON object"},
		{"a self-description that points outside itself", struct{ T pointing }{}, "error: .T : JSONSchema of schema_test.pointing uses $ref"},
		{"a self-description that panics", struct{ T panicking }{}, "error: .T : JSONSchema of schema_test.panicking panicked: no"},

		{"minimum x", struct {
			N int `minimum:"x"`
		}{}, `error: .N : the tag minimum:"x" is not a value of int`},
		{"minimum of a string", struct {
			S string `minimum:"1"`
		}{}, `error: .S : the tag minimum does not apply to string`},
		{"a fractional bound of an integer", struct {
			N int `maximum:"1.5"`
		}{}, `error: .N : the tag maximum:"1.5" is not a value of int`},
		{"a bound outside the type", struct {
			N int8 `maximum:"300"`
		}{}, `error: .N : the tag maximum:"300" is not a value of int8`},
		{"bounds crossed", struct {
			N int8 `minimum:"2" maximum:"1"`
		}{}, `error: .N : minimum 2 is over maximum 1`},
		{"lengths crossed", struct {
			S string `minLength:"2" maxLength:"1"`
		}{}, `error: .S : minLength 2 is over maxLength 1`},
		{"a negative length", struct {
			S string `minLength:"-1"`
		}{}, `error: .S : the tag minLength:"-1" is not a count`},
		{"an enum on an object", struct {
			P point `enum:"a"`
		}{}, `error: .P : the tag enum does not apply to schema_test.point`},
		{"an enum on any", struct {
			A any `enum:"a"`
		}{}, `error: .A : the tag enum does not apply to interface {}`},
		{"an enum value of another type", struct {
			N int8 `enum:"1,x"`
		}{}, `error: .N : the enum value x is not a value of int8`},
		{"an enum value that is not text of the type", struct {
			A netip.Addr `enum:"1.2.3.4,here"`
		}{}, `error: .A : the enum value here is not a value of netip.Addr`},
		{"an enum with blanks", struct {
			S string `enum:"a, b"`
		}{}, `error: .S : the tag enum has " b"`},
		{"an enum value twice", struct {
			S string `enum:"a,a"`
		}{}, `error: .S : the tag enum has a twice`},
		{"a pattern that does not compile", struct {
			S string `pattern:"(" `
		}{}, `error: .S : the tag pattern does not compile`},
		{"an empty tag", struct {
			S string `pattern:""`
		}{}, `error: .S : the tag pattern is empty`},
		{"the length of an array is its type's", struct {
			A [2]int8 `maxItems:"3"`
		}{}, `error: .A : minItems and maxItems cannot change the length of [2]int8`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := schema.ForType(reflect.TypeOf(c.of))
			if want, fails := strings.CutPrefix(c.want, "error: "); fails {
				field, words, _ := strings.Cut(want, " : ")
				if words == "" {
					field, words = "", field
				}
				if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), field) {
					t.Fatalf("got %s, %v\nwant an error with %q at %q", got, err, words, field)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Fatalf("got  %s, %v\nwant %s", got, err, c.want)
			}
			if _, err := schema.Compile(got); err != nil {
				t.Errorf("it does not compile: %v", err)
			}
		})
	}
}

func oneField(name, schema string) string {
	return `{"type":"object","properties":{"` + name + `":` + schema + `},"required":["` + name + `"],"additionalProperties":false}`
}

// Outer is embedded by cases of TestForType.
type Outer struct {
	Only bool `json:"only"`
	Q    bool `json:"q"`
}

type (
	shouted   struct{}
	loop      *loop
	untold    struct{}
	pointing  struct{}
	panicking struct{}
	described string
)

func (shouted) MarshalText() ([]byte, error) { return []byte("!"), nil }
func (untold) JSONSchema() []byte            { return []byte(`true`) }
func (pointing) JSONSchema() []byte          { return []byte(`{"$ref":"#/$defs/x"}`) }
func (panicking) JSONSchema() []byte         { panic("no") }
func (described) JSONSchema() []byte         { return []byte(`{"type":"string","description":"There."}`) }

// What two places share must not grow with the number of paths that lead there.
func TestSharedTypesDoNotMultiply(t *testing.T) {
	typ := reflect.TypeFor[struct{ A, B int8 }]()
	for range 10 { // as many paths as 2^10, if each were described
		typ = reflect.StructOf([]reflect.StructField{{Name: "L", Type: typ}, {Name: "R", Type: reflect.SliceOf(typ)}})
	}
	got, err := schema.ForType(typ)
	if err != nil || len(got) > 8<<10 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}
