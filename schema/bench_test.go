package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// argumentShape is one kind of tool call, as agents send them all day.
type argumentShape struct {
	name, schema, data string
}

func shapes() []argumentShape {
	var props, args []string
	for i := range 30 {
		switch i % 4 {
		case 0:
			props = append(props, fmt.Sprintf(`"field_%02d":{"type":"string","description":"a field"}`, i))
			args = append(args, fmt.Sprintf(`"field_%02d":"value %d"`, i, i))
		case 1:
			props = append(props, fmt.Sprintf(`"field_%02d":{"type":"integer","minimum":0,"maximum":1000}`, i))
			args = append(args, fmt.Sprintf(`"field_%02d":%d`, i, i*7))
		case 2:
			props = append(props, fmt.Sprintf(`"field_%02d":{"type":"boolean"}`, i))
			args = append(args, fmt.Sprintf(`"field_%02d":%t`, i, i%3 == 0))
		default:
			props = append(props, fmt.Sprintf(`"field_%02d":{"enum":["low","medium","high"]}`, i))
			args = append(args, fmt.Sprintf(`"field_%02d":"medium"`, i))
		}
	}
	code := strings.Repeat("func add(a, b int) int {\\n\\treturn a + b // \\\"sum\\\"\\n}\\n\\n", 240)
	var nested []string
	for i := range 12 {
		nested = append(nested, fmt.Sprintf(`{"id":%d,"name":"item number %d","tags":["red","green","blue"],"size":{"w":%d,"h":2.5},"note":null,"kind":"leaf"}`, i, i, i))
	}
	return []argumentShape{
		{"call45", `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14},"unit":{"enum":["C","F"]}},"required":["city"],"additionalProperties":false}`,
			`{"city":"Hangzhou","days":3,"unit":"C"      }`},
		{"read_file", `{"type":"object","properties":{"path":{"type":"string","minLength":1},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1,"maximum":2000}},"required":["path"],"additionalProperties":false}`,
			`{"path":"internal/server/handlers/session_store.go","offset":120,"limit":400}`},
		{"edit23k", `{"type":"object","properties":{"path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old_string","new_string"],"additionalProperties":false}`,
			`{"path":"a/b.go","old_string":"` + code[:len(code)/2] + `","new_string":"` + code + `","replace_all":false}`},
		{"nested1k7", `{"type":"object","properties":{"items":{"type":"array","maxItems":100,"items":{"$ref":"#/$defs/item"}}},"required":["items"],"additionalProperties":false,"$defs":{"item":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","maxLength":80},"tags":{"type":"array","items":{"type":"string"}},"size":{"type":"object","properties":{"w":{"type":"number"},"h":{"type":"number"}},"required":["w","h"]},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"kind":{"type":"string","enum":["leaf","node"]}},"required":["id","name"],"additionalProperties":false}}}`,
			`{"items":[` + strings.Join(nested, ",") + `]}`},
		{"props30", `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":["field_00","field_01"],"additionalProperties":false}`,
			`{` + strings.Join(args, ",") + `}`},
	}
}

func compileShape(tb testing.TB, s argumentShape) *Schema {
	tb.Helper()
	sch, err := Compile([]byte(s.schema))
	if err != nil {
		tb.Fatal(s.name, err)
	}
	if !sch.Check([]byte(s.data)) {
		tb.Fatal(s.name, ": Check is unsure of a plain call")
	}
	return sch
}

func BenchmarkCheck(b *testing.B) {
	for _, s := range shapes() {
		sch, data := compileShape(b, s), []byte(s.data)
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				sch.Check(data)
			}
		})
	}
}

func BenchmarkJSONValid(b *testing.B) {
	for _, s := range shapes() {
		data := []byte(s.data)
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				json.Valid(data)
			}
		})
	}
}

func BenchmarkExplain(b *testing.B) {
	for _, s := range shapes() {
		sch, data := compileShape(b, s), []byte(s.data)
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = sch.Explain(data)
			}
		})
	}
}

// BenchmarkRatio times both on the same bytes in turns, so that what else the
// machine does hits both, and reports Check's time over json.Valid's for each
// argumentShape and, as xValid, their geometric mean. The goal is at most 1.
func BenchmarkRatio(b *testing.B) {
	type pair struct {
		argumentShape
		sch          *Schema
		check, valid time.Duration
	}
	var all []pair
	for _, s := range shapes() {
		all = append(all, pair{argumentShape: s, sch: compileShape(b, s)})
	}
	for b.Loop() {
		for i := range all {
			p, data := &all[i], []byte(all[i].data)
			rounds := 1 + 20_000/len(data)
			start := time.Now()
			for range rounds {
				p.sch.Check(data)
			}
			middle := time.Now()
			for range rounds {
				json.Valid(data)
			}
			p.check += middle.Sub(start)
			p.valid += time.Since(middle)
		}
	}
	sum := 0.0
	for _, p := range all {
		r := float64(p.check) / float64(p.valid)
		b.ReportMetric(r, "x/"+p.name)
		sum += math.Log(r)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(math.Exp(sum/float64(len(all))), "xValid")
}

func TestCheckAllocatesNothing(t *testing.T) {
	for _, s := range shapes() {
		sch, data := compileShape(t, s), []byte(s.data)
		if n := testing.AllocsPerRun(100, func() { sch.Check(data) }); n != 0 {
			t.Errorf("%s: %v allocations", s.name, n)
		}
	}
}
