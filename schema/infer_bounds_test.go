package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A schema that would be refused at registration is refused where it is made, with the type's name.
func TestInferredSize(t *testing.T) {
	of := func(n int) reflect.Type {
		var fields []reflect.StructField
		for i := range n {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[time.Time]()})
		}
		return reflect.StructOf(fields)
	}
	if _, err := ForType(of(500)); err != nil {
		t.Error(err)
	}
	if raw, err := ForType(of(1000)); err == nil {
		t.Errorf("%d bytes were inferred", len(raw))
	}
}

// The work of Binds is bounded: past the bound nothing more is judged.
func TestBindsWork(t *testing.T) {
	type wrong struct{ A, B string }
	raw := jsontext.Value(`{"properties":{"A":{"type":"integer"},"B":{"type":"integer"}}}`)
	for left, want := range []int{0, 0, 1, 2, 2} {
		b := binding{root: raw, seen: map[bindVisit]bool{}, left: left}
		b.judge(raw, "", reflect.TypeFor[wrong](), goPath{typ: reflect.TypeFor[wrong]()})
		if len(b.faults) != want {
			t.Errorf("%d faults in %d visits, want %d", len(b.faults), left, want)
		}
	}
}

func TestLocate(t *testing.T) {
	const data = ` { "a" : [ 1 , {"b\"\\":[ ]} , "x" ], "é/~" :{"":null}}`
	for _, c := range []struct{ pointer, want string }{
		{"", strings.TrimSpace(data)}, {"/a", `[ 1 , {"b\"\\":[ ]} , "x" ]`}, {"/a/0", "1"}, {"/a/2", `"x"`}, {`/a/1/b"\`, "[ ]"}, {"/é~1~0/", "null"},
		{"/b", "-"}, {"/a/3", "-"}, {"/a/00", "-"}, {"/a/-", "-"}, {"/a/-1", "-"}, {"/a/0/0", "-"}, {"/a/1/b", "-"},
	} {
		s, ok := locate([]byte(data), c.pointer)
		if got := data[s.start:s.end]; ok != (c.want != "-") || ok && got != c.want {
			t.Errorf("%q: %q %v, want %q", c.pointer, got, ok, c.want)
		}
		if ok && len(s.members) > 0 && s.members[len(s.members)-1] && data[s.name] != '"' {
			t.Errorf("%q: its name starts at %q", c.pointer, data[s.name:])
		}
	}
}
