package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/go-json-experiment/json/jsontext"
)

func callOf(id string) callgate.Call {
	return callgate.Call{ID: id, Name: "t", Arguments: json.RawMessage("{}")}
}

var keyWord = llm.Word{Extra: "_.-", Max: 64}

// Only names are replaced; every other byte stays, at any depth.
func TestReplaceNames(t *testing.T) {
	by := map[string]string{"sort_by": "sort[by]", "skip": "$skip", "q": `a"b`}
	for _, c := range []struct{ why, in, want string }{
		{"nothing to replace", `{"a":1}`, `{"a":1}`},
		{"names, and not strings", `{"skip":"skip","a":["skip"]}`, `{"$skip":"skip","a":["skip"]}`},
		{"nested", `{"a":[{"skip":{"sort_by":[]}}]}`, `{"a":[{"$skip":{"sort[by]":[]}}]}`},
		{"numbers, order and blanks stay", "{ \"z\" : 9007199254740993,\n\t\"skip\" : 1.10e+2 , \"a\":\"\\u0041\" } ", "{ \"z\" : 9007199254740993,\n\t\"$skip\" : 1.10e+2 , \"a\":\"\\u0041\" } "},
		{"a name that is written with escapes", `{"\u0073kip":1}`, `{"$skip":1}`},
		{"a name that needs escapes", `{"q":1}`, `{"a\"b":1}`},
		{"twice is left for the gate to refuse", `{"skip":1,"skip":2}`, `{"$skip":1,"$skip":2}`},
		{"malformed", `{"skip":1`, `{"skip":1`},
		{"glued", `{"skip":1}{"skip":2}`, `{"$skip":1}{"skip":2}`},
		{"no object", `"skip"`, `"skip"`},
		{"nothing", ``, ``},
	} {
		if got := string(replaceNames(json.RawMessage(c.in), by)); got != c.want {
			t.Errorf("%s: %s gives %s; want %s", c.why, c.in, got, c.want)
		}
	}
}

// What is renamed on the way out is restored on the way in, byte for byte.
func TestKeysAreReversible(t *testing.T) {
	names := []string{"sort[by]", "$skip", "$and", "{{x}}", "plain", "a b", "a_b", "ключ", strings.Repeat("k", 80), strings.Repeat("k", 81), ""}
	declared := map[string]bool{}
	for _, n := range names {
		declared[n] = true
	}
	k := newKeys(declared, keyWord)
	for original, shown := range k.shown {
		if !keyWord.Accepts(shown) || declared[shown] || k.original[shown] != original {
			t.Errorf("%q is shown as %q, which stands for %q", original, shown, k.original[shown])
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		in := randomJSON(r, names, 3)
		out := replaceNames(in, k.shown)
		if !jsontext.Value(out).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("%s gives %s, which is not JSON", in, out)
		}
		if back := replaceNames(out, k.original); string(back) != string(in) {
			t.Fatalf("%s\ngives %s\nand back %s", in, out, back)
		}
	}
}

// randomJSON returns a random value whose members have some of names.
func randomJSON(r *rand.Rand, names []string, depth int) json.RawMessage {
	blank := func() string { return []string{"", " ", "\n\t"}[r.IntN(3)] }
	switch n := r.IntN(6); {
	case n < 3 && depth > 0:
		var parts []string
		for _, i := range r.Perm(len(names))[:r.IntN(len(names))] {
			parts = append(parts, blank()+string(Quote(names[i]))+blank()+":"+string(randomJSON(r, names, depth-1)))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + blank() + "}")
	case n == 3 && depth > 0:
		var parts []string
		for range r.IntN(4) {
			parts = append(parts, string(randomJSON(r, names, depth-1)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]" + blank())
	case n == 4:
		return Quote(names[r.IntN(len(names))])
	}
	return json.RawMessage(fmt.Sprintf("%s%d.%02de%d", blank(), r.IntN(99), r.IntN(99), r.IntN(9)))
}

func FuzzReplaceNames(f *testing.F) {
	f.Add([]byte(`{"skip_0":{"$skip":[1,{"a b":"\ud83d\ude00"}]}}`))
	f.Add([]byte("{\"a\xff\":1}"))
	f.Add([]byte(`{"a":1}{`))
	k := newKeys(map[string]bool{"$skip": true, "a b": true}, keyWord)
	f.Fuzz(func(t *testing.T, data []byte) {
		out := replaceNames(data, k.shown)
		if !jsontext.Value(data).IsValid() {
			return
		}
		if !jsontext.Value(out).IsValid() {
			t.Fatalf("%q gives %q", data, out)
		}
		// As text: a number may be beyond any float64.
		read := func(data []byte) (v any, err error) {
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.UseNumber()
			err = dec.Decode(&v)
			return v, err
		}
		a, errA := read(replaceNames(out, k.original))
		b, errB := read(replaceNames(data, k.original))
		if errA != nil || errB != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%q gives %q, and back %v instead of %v", data, out, a, b)
		}
	})
}
