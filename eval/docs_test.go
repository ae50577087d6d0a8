package eval

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// docs/eval.md has every key of a task file and of a report.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/eval.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for i, part := range strings.Split(string(page), "`") {
		if i%2 == 1 {
			for _, w := range strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" :,{}[]", r) }) {
				words[w] = true
			}
		}
	}
	known := 0
	var keys func(v any, in string)
	keys = func(v any, in string) {
		switch v := v.(type) {
		case map[string]any:
			for name, below := range v {
				// Not the names of files or codes, which are anybody's.
				if in != "refusals" && in != "failures" {
					if known++; !words[name] {
						t.Errorf("docs/eval.md does not have `%s` (of %s)", name, in)
					}
				}
				keys(below, name)
			}
		case []any:
			for _, below := range v {
				keys(below, in)
			}
		}
	}
	r := report()
	r.Tasks[0].Results[0].Workspace = "kept"
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	keys(v, "the report")
	if err := json.Unmarshal(Schema(), &v); err != nil {
		t.Fatal(err)
	}
	var properties func(v any)
	properties = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, below := range v {
				if p, ok := below.(map[string]any); ok && name == "properties" {
					for key := range p {
						if known++; !words[key] {
							t.Errorf("docs/eval.md does not have the key `%s` of a task", key)
						}
					}
				}
				properties(below)
			}
		case []any:
			for _, below := range v {
				properties(below)
			}
		}
	}
	properties(v)
	if known < 80 {
		t.Errorf("%d keys were looked for", known)
	}
}
