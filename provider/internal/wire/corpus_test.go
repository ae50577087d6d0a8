package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/provider/anthropic"
	"github.com/callgate/callgate/provider/openai"
)

// The tests here hold for the codecs of all providers: on the catalogues of real
// servers, if CALLGATE_CORPUS names a directory of their tools/list answers, and
// on a small one of our own otherwise.

// A listing is what a server answers to tools/list.
type listing struct {
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
}

func (l listing) source() source {
	var s source
	for _, t := range l.Tools {
		s = append(s, callgate.Tool{
			Spec:    callgate.Spec{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema},
			Handler: func(context.Context, callgate.Call) (callgate.Result, error) { return callgate.Result{}, nil },
		})
	}
	return s
}

type source []callgate.Tool

func (s source) Tools() ([]callgate.Tool, uint64) { return s, 1 }

const ownListing = `{"tools":[
	{"name":"lint-files","inputSchema":{"type":"object","properties":{"filePaths":{"type":"array","items":{"type":"string","minLength":1},"minItems":1}},"required":["filePaths"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}},
	{"name":"now","inputSchema":{"type":"object"}},
	{"name":"ping","inputSchema":{}},
	{"name":"git/commit","description":"Commit.","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}},
	{"name":"move_every_page_of_one_folder_into_another_folder_of_the_archive","inputSchema":{"type":"object","properties":{}}},
	{"name":"find","inputSchema":{"type":"object","properties":{"$skip":{"type":"integer"},"sort[by]":{"$ref":"#/$defs/s"}},"required":["sort[by]"],"$defs":{"s":{"type":"object","properties":{"$or":{"type":"array","items":{"$ref":"#/$defs/s"}}}}}}},
	{"name":"pick","inputSchema":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"oneOf":[{"required":["id"]},{"required":["name"]}]}},
	{"name":"precise","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807,"default":1.0}},"additionalProperties":{"type":"string"}}}]}`

func corpus(tb testing.TB) *callgate.Catalog {
	tb.Helper()
	listings := map[string][]byte{"own": []byte(ownListing)}
	if dir := os.Getenv("CALLGATE_CORPUS"); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no listings in CALLGATE_CORPUS: %v", err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				tb.Fatal(err)
			}
			listings[strings.TrimSuffix(filepath.Base(f), ".json")] = data
		}
	}
	var r callgate.Registry
	for _, name := range slices.Sorted(maps.Keys(listings)) {
		var l listing
		if err := json.Unmarshal(listings[name], &l); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		prefix := "mcp__" + regexp.MustCompile(`_+`).ReplaceAllString(name, "_") + "__"
		if err := r.Mount(prefix, l.source()); err != nil {
			tb.Fatal(err)
		}
	}
	for _, q := range r.Quarantined() {
		tb.Errorf("%s is quarantined: %s", q.Name, q.Reason)
	}
	return r.Catalog()
}

// A codec of either provider, as far as they are alike.
type codec struct {
	limits llm.Limits
	tools  json.RawMessage
	decode func([]byte) (llm.Response, error)
	call   string // a response with one call, %s for name and arguments
	text   bool   // arguments are sent as text
}

func codecs(cat *callgate.Catalog) map[string]codec {
	a, o := anthropic.Encode(cat), openai.Encode(cat)
	return map[string]codec{
		"anthropic": {anthropic.Limits, a.Tools, a.Decode, `[{"type":"tool_use","id":"1","name":%s,"input":%s}]`, false},
		"openai":    {openai.Limits, o.Tools, o.Decode, `[{"id":"1","function":{"name":%s,"arguments":%s}}]`, true},
	}
}

type shownTool struct {
	Name        string
	Description string
	Schema      json.RawMessage `json:"input_schema"`
	Parameters  json.RawMessage
	Function    *shownTool
}

var nameRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// H054: every tool has a name that the provider accepts and that leads back to it, and
// a schema that says what its own says, except for what the provider refuses.
func TestEveryToolIsShownAndFound(t *testing.T) {
	cat := corpus(t)
	for provider, c := range codecs(cat) {
		t.Run(provider, func(t *testing.T) {
			var tools []shownTool
			if err := json.Unmarshal(c.tools, &tools); err != nil {
				t.Fatal(err)
			}
			if len(tools) != cat.Len() {
				t.Fatalf("%d tools are shown; the catalog has %d", len(tools), cat.Len())
			}
			seen := map[string]bool{}
			renamed, exact, changed := 0, 0, 0
			for i, spec := range cat.Specs() {
				tool := tools[i]
				if tool.Function != nil {
					tool = *tool.Function
					tool.Schema = tool.Parameters
				}
				if !nameRule.MatchString(tool.Name) || seen[tool.Name] {
					t.Errorf("%s is shown as %q", spec.Name, tool.Name)
				}
				seen[tool.Name] = true
				if tool.Name != spec.Name {
					renamed++
				}
				if tool.Description != strings.TrimSpace(spec.Description) && tool.Description != spec.Description {
					t.Errorf("%s is described as %q", spec.Name, tool.Description)
				}
				if bytes.Equal(tool.Schema, spec.InputSchema) {
					exact++
				} else {
					changed++
				}
				shown, original := generic(t, tool.Schema), generic(t, spec.InputSchema)
				keys := checkShown(t, spec.Name, shown, c.limits)
				if want := expected(original, c.limits); keys == 0 && want != nil && !reflect.DeepEqual(shown, want) {
					t.Errorf("%s is shown as\n%s\nwant\n%v", spec.Name, tool.Schema, want)
				}
				args := `{}`
				if c.text {
					args = `"{}"`
				}
				r, err := c.decode(fmt.Appendf(nil, c.call, quote(tool.Name), args))
				if err != nil {
					t.Fatal(err)
				}
				if got := r.Message.Calls()[0].Name; got != spec.Name {
					t.Errorf("%q leads to %q; want %q", tool.Name, got, spec.Name)
				}
			}
			t.Logf("%d tools: %d renamed, %d schemas byte for byte, %d lowered", len(tools), renamed, exact, changed)
		})
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func generic(t *testing.T, data []byte) map[string]any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // 9223372036854775807 must stay that
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// checkShown fails if a provider would refuse the schema, and returns how many
// properties it has that were renamed.
func checkShown(t *testing.T, name string, s map[string]any, limits llm.Limits) (renamed int) {
	t.Helper()
	if s["type"] != "object" {
		t.Errorf("%s: the type is %v", name, s["type"])
	}
	if _, ok := s["properties"].(map[string]any); !ok {
		t.Errorf("%s: the properties are %v", name, s["properties"])
	}
	for _, kw := range limits.RootRefused {
		if s[kw] != nil {
			t.Errorf("%s: %s at the root", name, kw)
		}
	}
	suffix := regexp.MustCompile(`_[0-9a-f]{8}$`)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if d, ok := v["$schema"].(string); ok && !strings.Contains(d, "2020-12") {
				t.Errorf("%s: a $schema of %s", name, d)
			}
			if props, ok := v["properties"].(map[string]any); ok {
				for key := range props {
					if !limits.Key.Accepts(key) {
						t.Errorf("%s: the property %q is refused", name, key)
					}
					if suffix.MatchString(key) {
						renamed++
					}
				}
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(s)
	return renamed
}

// expected returns what a schema without renamed properties must be shown as, or
// nil if it has a choice at its root, for which there is a table elsewhere.
func expected(s map[string]any, limits llm.Limits) map[string]any {
	s = maps.Clone(s)
	if d, _ := s["$schema"].(string); !strings.Contains(d, "2020-12") {
		delete(s, "$schema")
	}
	s["type"] = "object"
	if s["properties"] == nil {
		s["properties"] = map[string]any{}
	}
	for _, kw := range append(limits.RootRefused, "$ref") {
		if s[kw] != nil {
			return nil
		}
	}
	return s
}

func BenchmarkEncode(b *testing.B) {
	cat := corpus(b)
	b.Run("anthropic", func(b *testing.B) {
		for b.Loop() {
			anthropic.Encode(cat)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*cat.Len()), "µs/tool")
	})
	b.Run("openai", func(b *testing.B) {
		for b.Loop() {
			openai.Encode(cat)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*cat.Len()), "µs/tool")
	})
}

func BenchmarkDecode(b *testing.B) {
	for provider, c := range codecs(corpus(b)) {
		args := `{"path":"src/main.go","limit":100}`
		if c.text {
			args = quote(args)
		}
		response := fmt.Appendf(nil, c.call, quote("mcp__own__lint-files"), args)
		b.Run(provider, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.decode(response); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
