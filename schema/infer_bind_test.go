package schema_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func ExampleFor() {
	type args struct {
		Path  string `json:"path" description:"File to read." minLength:"1"`
		Limit int32  `json:"limit,omitempty" minimum:"1" maximum:"2000"`
		Mode  string `json:"mode,omitempty" enum:"text,hex"`
	}
	raw, err := schema.For[args]()
	if err != nil {
		panic(err)
	}
	(*jsontext.Value)(&raw).Indent()
	fmt.Println(string(raw))
	// Output:
	// {
	// 	"type": "object",
	// 	"properties": {
	// 		"path": {
	// 			"type": "string",
	// 			"description": "File to read.",
	// 			"minLength": 1
	// 		},
	// 		"limit": {
	// 			"type": "integer",
	// 			"minimum": 1,
	// 			"maximum": 2000
	// 		},
	// 		"mode": {
	// 			"type": "string",
	// 			"enum": [
	// 				"text",
	// 				"hex"
	// 			]
	// 		}
	// 	},
	// 	"required": [
	// 		"path"
	// 	],
	// 	"additionalProperties": false
	// }
}

func TestBindIntegers(t *testing.T) {
	type bound struct {
		I  int64
		U  uint64
		I8 int8
		F  float64
		P  *int
		R  jsontext.Value
		L  []int
		M  map[string]int
	}
	p := func(n int) *int { return &n }
	for _, c := range []struct {
		args string
		want bound
		err  string
	}{
		{args: `{"I":9007199254740993}`, want: bound{I: 1<<53 + 1}},
		{args: `{"I":9223372036854775807,"U":18446744073709551615}`, want: bound{I: math.MaxInt64, U: math.MaxUint64}},
		{args: `{"I":-9223372036854775808}`, want: bound{I: math.MinInt64}},
		{args: `{"I":5.0,"U":1e2,"I8":-12.70e1}`, want: bound{I: 5, U: 100, I8: -127}},
		{args: `{"I":9007199254740993.0,"U":1844674407370955161500e-2}`, want: bound{I: 1<<53 + 1, U: 18446744073709551615}},
		{args: `{"I":-0,"U":-0,"I8":0.0e400}`, want: bound{}},
		{args: `{"P":3.0,"L":[1.0,2,3e0],"M":{"a":1.0}}`, want: bound{P: p(3), L: []int{1, 2, 3}, M: map[string]int{"a": 1}}},
		{args: `{"I":1.0,"F":1.0,"R":[1.0,1e2]}`, want: bound{I: 1, F: 1, R: jsontext.Value(`[1.0,1e2]`)}}, // only where an integer is wanted
		{args: `{"I":1.5}`, err: "/I"},
		{args: `{"I":1e-1}`, err: "/I"},
		{args: `{"I8":128.0}`, err: "/I8"},
		{args: `{"I8":1e400}`, err: "/I8"},
		{args: `{"I":9223372036854775808}`, err: "/I"},
		{args: `{"U":-1.0}`, err: "/U"},
		{args: `{"I":"1.0"}`, err: "/I"},
		{args: `{"i":1}`, want: bound{}}, // names match exactly
	} {
		t.Run(c.args, func(t *testing.T) {
			got := bound{I: 77, M: map[string]int{"left": 1}} // never merged with
			err := schema.Bind([]byte(c.args), &got)
			if c.err != "" {
				var at *json.SemanticError
				if !errors.As(err, &at) || string(at.JSONPointer) != c.err {
					t.Fatalf("%v, want an error at %s", err, c.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
	var many []int
	if err := schema.Bind([]byte("["+strings.Repeat("1.0,", 63)+"1.0]"), &many); err != nil || len(many) != 64 {
		t.Errorf("64 numbers spelled so: %v", err)
	}
	if err := schema.Bind([]byte("["+strings.Repeat("1.0,", 64)+"1.0]"), &many); err == nil {
		t.Error("65 numbers spelled so were read: the limit is gone")
	}
	if err := schema.Bind([]byte(`{}`), bound{}); err == nil {
		t.Error("a value that is no pointer was bound to")
	}
}

func TestBindViolation(t *testing.T) {
	type bound struct {
		N int8       `json:"n"`
		P *uint64    `json:"p"`
		F float32    `json:"f"`
		T time.Time  `json:"t"`
		B []byte     `json:"b"`
		A [4]byte    `json:"a"`
		L [2]int     `json:"l"`
		I netip.Addr `json:"i"`
		S struct {
			B bool `json:"b"`
		} `json:"s"`
	}
	for _, c := range []struct{ args, want string }{
		{`{"n":300}`, "/n: must be an integer from -128 to 127, got 300"},
		{`{"n":1.5}`, "/n: must be an integer from -128 to 127, got 1.5"},
		{`{"n":"1"}`, "/n: must be an integer from -128 to 127, got a string"},
		{`{"p":-1}`, "/p: must be an integer from 0 to 18446744073709551615, got -1"},
		{`{"f":1e39}`, "/f: must be a number within 32-bit floating point, got 1e39"},
		{`{"t":"today"}`, "/t: must be a moment as in RFC 3339, such as 2006-01-02T15:04:05Z, got a string"},
		{`{"b":"!"}`, "/b: must be base64 text, got a string"},
		{`{"a":""}`, "/a: must be base64 text of 4 bytes, got a string"},
		{`{"l":[1]}`, "/l: must be an array of 2, got an array"},
		{`{"i":"here"}`, `/i: must be a string, got a string: ParseAddr("here"): unable to parse IP`},
		{`{"s":[]}`, "/s: must be an object, got an array"},
		{`{"s":{"b":1}}`, "/s/b: must be a boolean, got a number"},
	} {
		err := schema.Bind([]byte(c.args), new(bound))
		v, ok := schema.BindViolation(err)
		if !ok || v.String() != c.want || v.Keyword != "bind" {
			t.Errorf("%s\ngot  %v\nwant %s\nfrom %v", c.args, v, c.want, err)
		}
	}
	if v, ok := schema.BindViolation(errors.New("other")); ok {
		t.Errorf("%v from an error of another kind", v)
	}
}

// everything has one field for each thing that inference can say exactly.
type everything struct {
	Name string         `json:"name" minLength:"1" maxLength:"5" pattern:"^[a-z]+$"`
	Mode *string        `json:"mode" enum:"a,b"`
	I8   int8           `json:"i8,omitempty" minimum:"-3"`
	I64  int64          `json:"i64,omitempty"`
	U64  uint64         `json:"u64,omitempty"`
	F32  float32        `json:"f32,omitempty"`
	F64  float64        `json:"f64,omitempty"`
	B    []byte         `json:"b,omitempty"`
	A    [4]byte        `json:"a,omitzero"`
	T    time.Time      `json:"t,omitzero"`
	R    jsontext.Value `json:"r,omitzero"`
	L    []int16        `json:"l,omitempty" maxItems:"3" maximum:"9"`
	Two  [2]bool        `json:"two,omitzero"`
	M    map[string]xy  `json:"m,omitempty"`
	N    *recursive     `json:"n"`
}

// What the inferred schema admits binds, and what was bound is admitted again once marshalled.
func FuzzBind(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a"}`, `{"name":"abc","mode":"a","i8":-3.0,"i64":9007199254740993,"u64":18446744073709551615,"f32":3.4028235e+38,"f64":-0}`,
		`{"name":"a","b":"AA==","a":"AAAAAA==","t":"2024-02-29T00:00:00.5+01:00","r":[1e400],"l":[1,9.0],"two":[true,false]}`,
		`{"name":"a","m":{"k":{"X":1,"Y":-128}},"n":{"name":"","kids":[{"name":"x","kids":[]}],"next":null}}`,
	} {
		f.Add([]byte(seed))
	}
	s := mustCompile(f, string(must(schema.For[everything]())))
	f.Fuzz(func(t *testing.T, data []byte) {
		if found, err := s.Validate(data); err != nil || len(found) > 0 {
			return
		}
		var v everything
		if err := schema.Bind(data, &v); err != nil {
			t.Fatalf("%s is admitted but does not bind: %v", data, err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s was bound to what does not marshal: %v", data, err)
		}
		if found, err := s.Validate(again); err != nil || len(found) > 0 {
			t.Fatalf("%s came back as %s, which is refused: %v %v", data, again, found, err)
		}
	})
}

func BenchmarkBind(b *testing.B) {
	type args struct {
		Path   string `json:"path"`
		Offset int    `json:"offset,omitempty"`
	}
	for _, data := range []string{`{"path":"src/main.go","offset":1}`, `{"path":"src/main.go","offset":1.0}`} {
		b.Run(data, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v args
				if err := schema.Bind([]byte(data), &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// H015: what goes into an any keeps the digits of an integer too.
func TestBindAny(t *testing.T) {
	type args struct {
		X any            `json:"x"`
		M map[string]any `json:"m,omitempty"`
		L []any          `json:"l,omitempty"`
	}
	for _, c := range []struct {
		data string
		want any // nil: an error
	}{
		{`{"x":1}`, 1.0},
		{`{"x":-0.5}`, -0.5},
		{`{"x":9007199254740992}`, 9007199254740992.0},
		{`{"x":9007199254740993}`, int64(9007199254740993)},
		{`{"x":-9223372036854775808}`, int64(-9223372036854775808)},
		{`{"x":18446744073709551615}`, uint64(18446744073709551615)},
		{`{"x":18446744073709551616}`, nil},
		{`{"x":1e300}`, 1e300},
		{`{"x":1e400}`, nil},
		{`{"x":"9007199254740993"}`, "9007199254740993"},
		{`{"x":true}`, true},
	} {
		var a args
		err := schema.Bind([]byte(c.data), &a)
		if c.want == nil && err == nil || c.want != nil && (err != nil || a.X != c.want) {
			t.Errorf("%s: %T %[2]v, %v; want %T %[4]v", c.data, a.X, err, c.want)
		}
	}
	var a args
	if err := schema.Bind([]byte(`{"x":null,"m":{"k":{"n":9007199254740993}},"l":[9007199254740993]}`), &a); err != nil ||
		a.M["k"].(map[string]any)["n"] != int64(9007199254740993) || a.L[0] != int64(9007199254740993) {
		t.Errorf("deep: %v, %v", a, err)
	}
}
