package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/schema"
)

const weather = `# a tool in another language
commands:
  - name: weather.lookup
    description: Look up the weather of a city.
    inputSchema: {type: object, properties: {city: {type: string}}, required: [city], additionalProperties: false}
    command: [./weather.sh]
    timeout: 10s
    annotations: {readOnlyHint: true}
    access: [{key: "file:{/path}", write: true}]
env:
  pass: [UV_CACHE_DIR]
  set: {GREETING: "no"}
`

func TestParse(t *testing.T) {
	f, err := Parse("callgate.yaml", []byte(weather))
	if err != nil {
		t.Fatal(err)
	}
	c := f.Commands[0]
	if c.Name != "weather.lookup" || c.Command[0] != "./weather.sh" || c.Timeout != "10s" || !c.Annotations.ReadOnlyHint || f.Env.Set["GREETING"] != "no" ||
		c.Access[0] != (Access{"file:{/path}", true}) || f.Env.Pass[0] != "UV_CACHE_DIR" {
		t.Errorf("got %+v", f)
	}
	if got := string(c.InputSchema); got != `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}` {
		t.Errorf("inputSchema %s", got)
	}
	if got := f.Where("/commands/0/timeout"); got != "callgate.yaml:7" {
		t.Errorf("timeout stands at %s", got)
	}
	for name, same := range map[string]string{
		"JSON":            `{"commands":[],"env":{}}`,
		"nothing":         "",
		"a comment":       "# nothing\n",
		"an empty object": "{}",
		"a document mark": "---\n{}\n",
		"the example":     Example,
	} {
		if _, err := Parse("f", []byte(same)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each fault is told with its line and what to do; the second column is all of
// the lines of the error.
func TestFaults(t *testing.T) {
	command := func(extra string) string {
		return "commands:\n- name: a\n  description: d\n  inputSchema: {type: object}\n  command: [x]\n" + extra
	}
	for _, tt := range []struct {
		file  string
		wants []string
	}{
		{"comands: []\n", []string{`f:1:1: /comands: unknown field`, "commands?"}},
		{command("  descripton: x\n"), []string{"f:6:3: /commands/0/descripton: unknown field"}},
		{strings.Replace(command(""), "description", "descripton", 1), []string{"f:3:3: /commands/0/descripton: unknown field", "did you mean description?", "/commands/0/description: missing"}},
		{"commands:\n- name: a\n  command: [x]\n", []string{"f:2:", "/commands/0/description: missing", "/commands/0/inputSchema: missing"}},
		{command("  timeout: 10\n"), []string{"f:6:3: /commands/0/timeout: expected string, got"}},
		{command("  timeout: 10 s\n"), []string{"f:6:3: /commands/0/timeout:"}},
		{"env:\n  home: elsewhere\n", []string{"f:2:3: /env/home:", "workspace", "private"}},
		{command("  inputSchema: {}\n"), []string{"f:6:3:", `"inputSchema" already defined at [4:3]`}},
		{"env: {\"home\": private, 'home': private}\n", []string{"f:1:", "home"}},
		{"commands:\n- name: A-b\n  description: d\n  inputSchema: {type: object}\n  command: []\n", []string{"f:2:3: /commands/0/name:", "f:5:3: /commands/0/command:"}},
		{"commands:\n- name: a\n  description: d\n  command: [x]\n  inputSchema:\n    type: object\n    properties:\n      n: {type: intger}\n",
			[]string{"f:8:", "inputSchema of a", "/properties/n/type"}},
		{command("- name: a\n  description: d\n  inputSchema: {type: object}\n  command: [y]\n"), []string{`f:6:3: the tool "a" is already declared at f:2`}},
		{command("  access: [{key: \"{/path}\"}]\n"), []string{"f:6:", "scheme"}},
		{command("  access: [{key: \"file:{path}\"}]\n"), []string{"f:6:", "not a JSON Pointer"}},
		{command("  access: [{key: \"file:{/path\"}]\n"), []string{"{ without a }"}},
		{command("  repair: [guess]\n"), []string{"f:6:", "json_string"}},
		{strings.Replace(command(""), "[x]", "['']", 1), []string{"f:5:", "the program has no name"}},
		{"a: &x 1\n", []string{"f:1:4: anchors"}},
		{"a: {<<: {b: 1}}\n", []string{"merge keys"}},
		{"a: !!str 1\n", []string{"tags"}},
		{"1: x\n", []string{`f:1:1: a key is text: put "1" in quotes`}},
		{"env: {set: {A: .inf}}\n", []string{"f:1:16: .inf is not a number"}},
		{"commands: [\n", []string{"f:1:", "not YAML"}},
		{"a: b: c\n", []string{"f:1:", "not YAML"}},
		{"{}\n---\n{}\n", []string{"second document"}},
		{"[]\n", []string{"f:1:1: (root): expected object"}},
		{"env: null\n", []string{"f:1:1: /env: expected object"}},
		{command("  outputLimit: 010\n"), []string{"f:6:16: 010 is octal to some", "0o10"}},
		{strings.Repeat("[", 100_000), []string{"more than 1000 brackets"}},
		{"\ufeffcomands: []\n", []string{"/comands: unknown field"}},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), []string{"64 levels"}},
		{strings.Repeat("# x\n", 300_000), []string{"limit"}},
	} {
		_, err := Parse("f", []byte(tt.file))
		if err == nil {
			t.Errorf("%q: accepted", tt.file)
			continue
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.File != "f" {
			t.Errorf("%q: %T %v", tt.file, err, err)
		}
		for _, want := range tt.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%.200q:\ngot  %v\nwant %s", tt.file, err, want)
			}
		}
	}
}

// Numbers are those of JSON, every digit kept, and a byte order mark is no text.
func TestNumbers(t *testing.T) {
	f, err := Parse("f", []byte("\ufeff{\"commands\": [{\"name\": \"a\", \"description\": \"d\", \"command\": [\"x\", \"1e3\"], \"outputLimit\": 2e1,\n"+
		`"inputSchema": {"type": "object", "properties": {"n": {"const": 12345678901234567890123}}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := f.Commands[0]
	if c.OutputLimit != 20 || c.Command[1] != "1e3" || !strings.Contains(string(c.InputSchema), `"const":12345678901234567890123`) {
		t.Errorf("%d, %q, %s", c.OutputLimit, c.Command, c.InputSchema)
	}
}

// A configuration that is no file is not waited for.
func TestNoRegularFile(t *testing.T) {
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

// The schema that is published is the one that is enforced.
func TestSchema(t *testing.T) {
	s, err := schema.Compile(Schema())
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("f", []byte(weather))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Validate(f.doc.JSON); v != nil || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if !strings.Contains(string(Schema()), "As JSON") && !strings.Contains(string(Schema()), "standard input") {
		t.Error("the schema describes nothing")
	}
}

func TestKeys(t *testing.T) {
	c := Command{Access: []Access{{"file:{/path}", true}, {"db:{/table}/{/rows/0/id}", false}, {"file:fixed", false}}}
	access := c.access(func(p string) string { return "file:" + filepath.Clean(p) })
	for _, tt := range []struct{ args, want string }{
		{`{"path":"a/../b","table":"t","rows":[{"id":7}]}`, "file:b db:t/7 file:fixed"},
		{`{"path":"b","table":"t","rows":[]}`, "file:b db:t/ file:fixed"},
		{`{"table":true}`, "file: db: file:fixed"}, // what is not said covers all below
		{`{"path":""}`, "file: db: file:fixed"},
		{`{"path":{"x":1}}`, "file: db: file:fixed"},
	} {
		var got []string
		for _, a := range access([]byte(tt.args)) {
			got = append(got, a.Key)
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, g, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/x")
	if got, err := User(); err != nil || got != filepath.Join("/x", "callgate", "callgate.yaml") {
		t.Errorf("%s, %v", got, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "relative") // as the XDG specification has it: ignored
	t.Setenv("HOME", "/h")
	if got, _ := User(); strings.HasPrefix(got, "relative") {
		t.Errorf("a relative XDG_CONFIG_HOME is used: %s", got)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// Whatever the bytes are: no panic, and either a file or errors with its name.
func FuzzParse(f *testing.F) {
	for _, s := range []string{weather, Example, "a: &x 1", "- - -", "{", "a: |\n  x\n", "? a\n: b\n", "\xff", "'", "a: *b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err == nil && file == nil {
			t.Fatal("neither a file nor an error")
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f") {
			t.Fatalf("the error does not name the file: %v", err)
		}
	})
}
