package schema_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/schema"
)

func mustCompile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func ExampleSchema_Repair() {
	s, _ := schema.Compile([]byte(`{"type":"object","properties":{"ids":{"type":"array","items":{"type":"integer"}}},"required":["ids"]}`))
	fixed, notes, ok := s.Repair([]byte(`{"ids":"[1,2]"}`), []string{schema.RepairJSONString})
	fmt.Println(string(fixed), ok)
	fmt.Println(notes[0].Path, notes[0].Kind, notes[0].Message)
	// Output:
	// {"ids":[1,2]} true
	// /ids json_string an array was sent inside a string; it was read as an array: send it without the quotes
}

// The properties that the rows of TestRepair are about, each under the name of its type.
const repairSchema = `{"type":"object","properties":{
	"ints":{"type":"array","items":{"type":"integer"}},
	"strs":{"type":"array","items":{"type":"string"}},
	"obj":{"type":"object","properties":{"n":{"type":"integer"},"deep":{"type":"object"}},"required":["n"],"additionalProperties":false},
	"n":{"type":"integer","maximum":9007199254740993},"num":{"type":"number"},"flag":{"type":"boolean"},
	"str":{"type":"string"},"one":{"enum":[1,"x"]},"maybe":{"type":["integer","null"]},
	"either":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"}]},
	"nobj":{"anyOf":[{"type":"integer"},{"type":"boolean"}]},
	"map":{"type":"object","additionalProperties":{"type":"integer"}},
	"code":{"pattern":"^x"},
	"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}
},"additionalProperties":false}`

func TestRepair(t *testing.T) {
	const (
		json  = schema.RepairJSONString
		num   = schema.RepairNumberString
		flag  = schema.RepairBoolString
		null  = schema.RepairNullOptional
		lone  = schema.RepairScalarToArray
		every = "json_string number_string bool_string null_optional scalar_to_array"
	)
	for _, c := range []struct {
		kinds, args string
		want        string // "" where it is not repaired
		notes       string // kind and path of each
	}{
		{json, `{"ints":"[1,2]"}`, `{"ints":[1,2]}`, "json_string /ints"}, // H007
		{"", `{"ints":"[1,2]"}`, "", ""},                                  // H007, strict mode
		{num, `{"ints":"[1,2]"}`, "", ""},
		{json, "{\"ints\":\" [1,\\n2] \"}", "{\"ints\":[1,\n2]}", "json_string /ints"}, // the text as it was in the string, blanks around it apart
		{json, `{"ints":" [1, \\n]"}`, "", ""},                                         // JSON text must be JSON
		{json, `{"ints":"[1,2"}`, "", ""},                                              // cut off: never completed
		{json, `{"ints":"[1,2]]"}`, "", ""},                                            // nor cut
		{json, `{"ints":"[1,\"x\"]"}`, "", ""},                                         // opened, but wrong inside
		{json, `{"ints":"\"[1]\""}`, "", ""},                                           // only one layer
		{json, `{"obj":"{\"n\":1,\"n\":2}"}`, "", ""},                                  // what two parsers would read differently stays shut
		{json, `{"obj":"{\"n\":1}"}`, `{"obj":{"n":1}}`, "json_string /obj"},
		{json, `{"obj":"{\"n\":1,\"deep\":\"{}\"}"}`, `{"obj":{"n":1,"deep":{}}}`, "json_string /obj, json_string /obj/deep"},
		{json, `{"obj":"{\"n\":\"1\"}"}`, "", ""},
		{every, `{"obj":"{\"n\":\"1\"}"}`, `{"obj":{"n":1}}`, "json_string /obj, number_string /obj/n"},
		{every, `{"ints":"[1],\"n\":5,\"strs\":[]"}`, "", ""}, // what is inside stays inside
		{every, `{"n":"1,\"num\":2"}`, "", ""},
		{every, `{"code":"12"}`, "", ""},       // a string in place, of the wrong form
		{every, `{"obj":"{\"m\":1}"}`, "", ""}, // a name is never changed
		{every, `"{\"n\":5}"`, `{"n":5}`, "json_string "},
		{json, "{ \"str\" : \"a\\u0041\",\n\t\"ints\" :\t\"[ 1 , 2.0 ]\" , \"num\":1.50e+1 }",
			"{ \"str\" : \"a\\u0041\",\n\t\"ints\" :\t[ 1 , 2.0 ] , \"num\":1.50e+1 }", "json_string /ints"}, // all else to the byte

		{every, `{"either":["a","b"]}`, `{"either":["a","b"]}`, ""}, // H008
		{every, `{"either":"[x]"}`, `{"either":"[x]"}`, ""},         // H008
		{every, `{"either":"[\"x\"]"}`, `{"either":"[\"x\"]"}`, ""}, // H008: accepted, so it is meant
		{every, `{"str":"42"}`, `{"str":"42"}`, ""},
		{every, `{"one":"x"}`, `{"one":"x"}`, ""},
		{every, `{"maybe":null}`, `{"maybe":null}`, ""},
		{every, `{"str":"[1]","n":"1"}`, `{"str":"[1]","n":1}`, "number_string /n"},

		{num, `{"n":"42"}`, `{"n":42}`, "number_string /n"},
		{num, `{"n":"9007199254740993"}`, `{"n":9007199254740993}`, "number_string /n"}, // to the last digit
		{num, `{"n":"9007199254740994"}`, "", ""},                                       // over the maximum, exactly
		{num, `{"num":"-1.50"}`, `{"num":-1.50}`, "number_string /num"},
		{num, `{"n":"1.5"}`, "", ""},
		{num, `{"one":"1"}`, `{"one":1}`, "number_string /one"},
		{num, `{"nobj":"7"}`, `{"nobj":7}`, "number_string /nobj"},
		{num, `{"num":"NaN"}`, "", ""},
		{num, `{"num":"Infinity"}`, "", ""},
		{num, `{"num":" 42"}`, "", ""},
		{num, `{"num":"42 "}`, "", ""},
		{num, `{"num":"+42"}`, "", ""},
		{num, `{"num":"042"}`, "", ""},
		{num, `{"num":"0x10"}`, "", ""},
		{num, `{"num":"1,5"}`, "", ""},
		{num, `{"num":""}`, "", ""},
		{num, `{"num":"1e999"}`, "", ""}, // beyond the strict gate
		{num, `{"n":true}`, "", ""},

		{flag, `{"flag":"false"}`, `{"flag":false}`, "bool_string /flag"}, // H010
		{"", `{"flag":"false"}`, "", ""},                                  // H010, strict mode
		{flag, `{"flag":"true"}`, `{"flag":true}`, "bool_string /flag"},
		{flag, `{"flag":"False"}`, "", ""},
		{flag, `{"flag":"yes"}`, "", ""},
		{flag, `{"flag":""}`, "", ""},
		{every, `{"flag":"0"}`, "", ""},
		{every, `{"flag":1}`, "", ""},

		{null, `{"n":null}`, `{}`, "null_optional /n"},
		{null, `{"str":"x" , "n" : null}`, `{"str":"x" }`, "null_optional /n"}, // H020, first
		{null, `{ "n":null, "str":"x"}`, `{ "str":"x"}`, "null_optional /n"},
		{null, `{"str":"x","n":null,"flag":true}`, `{"str":"x","flag":true}`, "null_optional /n"},
		{null, `{"n":null,"flag":null}`, `{}`, "null_optional /flag, null_optional /n"},
		{every, `{"obj":{"n":null}}`, "", ""}, // H020, second: required
		{every, `{"what":null}`, "", ""},      // an unknown name is never dropped
		{every, `{"map":{"k":null}}`, "", ""}, // nor the entry of a map
		{every, `{"ints":[1,null]}`, "", ""},  // nor an element
		{null, `{"list":[{"n":null}]}`, `{"list":[{}]}`, "null_optional /list/0/n"},

		{lone, `{"strs":"a"}`, `{"strs":["a"]}`, "scalar_to_array /strs"},
		{lone, `{"ints":1}`, `{"ints":[1]}`, "scalar_to_array /ints"},
		{lone, `{"ints":"1"}`, "", ""},
		{every, `{"strs":"[1,2]"}`, `{"strs":["[1,2]"]}`, "scalar_to_array /strs"}, // as JSON it would hold numbers
		{every, `{"strs":"[\"a\"]"}`, `{"strs":["a"]}`, "json_string /strs"},
		{every, `{"strs":{"a":1}}`, "", ""},
		{every, `{"strs":null}`, `{}`, "null_optional /strs"},
		{every, `{"n":"1","flag":"true","ints":3}`, `{"n":1,"flag":true,"ints":[3]}`, "bool_string /flag, scalar_to_array /ints, number_string /n"},

		{"no_such_kind", `{"n":"1"}`, "", ""},
		{every, `{"n":"1"`, "", ""},
		{every, `{"n":"1","n":"2"}`, "", ""},
		{every, `{"n":"1","str":5}`, "", ""}, // all or nothing
	} {
		t.Run(c.args, func(t *testing.T) {
			s := mustCompile(t, repairSchema)
			got, notes, ok := s.Repair([]byte(c.args), strings.Fields(c.kinds))
			want := c.want
			if want == "" {
				want = c.args
			}
			if string(got) != want || ok != (c.want != "") {
				t.Errorf("got  %s %v\nwant %s", got, ok, want)
			}
			var said []string
			for _, n := range notes {
				said = append(said, n.Kind+" "+n.Path)
				if n.Message == "" {
					t.Errorf("no message for %v", n)
				}
			}
			slices.Sort(said)
			expect := strings.Split(c.notes, ", ")
			slices.Sort(expect)
			if strings.Join(said, ", ") != strings.Join(expect, ", ") {
				t.Errorf("notes %q, want %q", said, expect)
			}
		})
	}
}

// A repair that turns out not to be needed is not made: here dropping "kind" selects the branch in which "v" was right.
func TestRepairIsMinimal(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{},"z":{"type":"integer"}},
		"if":{"properties":{"z":{"type":"string"}}},"then":{"properties":{"a":{"type":"integer"}}},"else":{"properties":{"a":{"type":["string","integer"]}}}}`)
	if got, notes, ok := s.Repair([]byte(`{"a":"1","z":"2"}`), schema.RepairKinds()); ok {
		t.Errorf("got %s with %v: with z alone repaired, a was accepted as it stood", got, notes)
	}
}

// Nor may a repair make a fault of what was accepted, even if that could be repaired as well: b may be a string as long as a is there.
func TestRepairMovesNoFault(t *testing.T) {
	s := mustCompile(t, `{"type":"object","properties":{"a":{"type":"integer"},"b":{}},
		"if":{"required":["a"]},"else":{"properties":{"b":{"type":"integer"}}}}`)
	if got, notes, ok := s.Repair([]byte(`{"a":null,"b":"2"}`), schema.RepairKinds()); ok {
		t.Errorf("got %s with %v", got, notes)
	}
}

func TestRepairIsBounded(t *testing.T) {
	s := mustCompile(t, `{"type":"array","items":{"type":"integer"}}`)
	many := func(n int) []byte {
		return []byte("[" + strings.TrimSuffix(strings.Repeat(`"1",`, n), ",") + "]")
	}
	if got, notes, ok := s.Repair(many(32), schema.RepairKinds()); !ok || len(notes) != 32 {
		t.Errorf("32 slips: %s %v %v", got, notes, ok)
	}
	if got, notes, ok := s.Repair(many(33), schema.RepairKinds()); ok || notes != nil || !bytes.Equal(got, many(33)) {
		t.Errorf("33 slips: %s %v %v", got, notes, ok)
	}
}

// Whatever is repaired validates, differs from what was sent, and what validates is never touched.
func FuzzRepair(f *testing.F) {
	for _, seed := range []string{
		`{"ints":"[1,2]"}`, `{"either":"[x]"}`, `{"obj":"{\"n\":\"1\"}"}`, `{"n":null}`, `{"flag":"true","strs":"a"}`,
		`{"map":{"a":null}}`, `"{}"`, `{"list":"[{\"n\":null}]"}`, ` { "n" : "1" } `,
	} {
		f.Add([]byte(seed), uint8(31))
	}
	s := mustCompile(f, repairSchema)
	f.Fuzz(func(t *testing.T, data []byte, mask uint8) {
		var kinds []string
		for i, k := range schema.RepairKinds() {
			if mask&(1<<i) != 0 {
				kinds = append(kinds, k)
			}
		}
		before := bytes.Clone(data)
		found, err := s.Validate(data)
		valid := err == nil && len(found) == 0
		got, notes, ok := s.Repair(data, kinds)
		if !bytes.Equal(before, data) {
			t.Fatal("the input was written to")
		}
		if (valid || !ok) && (!bytes.Equal(got, data) || len(notes) > 0) {
			t.Fatalf("touched %s: %s %v", data, got, notes)
		}
		if valid != (ok && len(notes) == 0) {
			t.Fatalf("%s: valid %v, ok %v with %v", data, valid, ok, notes)
		}
		if !ok {
			return
		}
		if found, err := s.Explain(got); err != nil || len(found) > 0 {
			t.Fatalf("%s → %s: %v %v", data, got, found, err)
		}
		for _, n := range notes {
			if !slices.Contains(kinds, n.Kind) {
				t.Fatalf("%s was not asked for", n.Kind)
			}
		}
	})
}
