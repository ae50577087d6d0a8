package callgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A source is a Source whose tools a test can change.
type source struct {
	mu      sync.Mutex
	tools   []Tool
	version uint64
}

func (s *source) Tools() ([]Tool, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.version
}

func (s *source) set(tools ...Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.version = tools, s.version+1
}

func TestRegisterIsAllOrNothing(t *testing.T) {
	r := registry(t, echo("a"))
	err := r.Register(echo("b"), echo("a"))
	if err == nil || strings.Count(err.Error(), "registry_test.go:") != 1 || strings.Count(err.Error(), "plan_test.go:") != 1 {
		t.Errorf("the error of a duplicate names both places: %v", err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after a refused batch: %q", got)
	}
	if err := r.Register(echo("b")); err != nil {
		t.Errorf("a tool of a refused batch is left: %v", err)
	}
	r = registry(t, echo("a"))
	if err := r.Register(echo("c"), echo("c")); err == nil {
		t.Error("one name twice in a batch is accepted")
	}
	if err := r.Replace(echo("x"), echo("x")); err == nil {
		t.Error("one name twice in a batch of Replace is accepted")
	}
	if err := r.Replace(tool("a", says("new")), echo("d")); err != nil {
		t.Error(err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"a", "d"}) {
		t.Errorf("a replaced tool lost its place: %q", got)
	}
}

// H047 and others: what cannot be offered is refused, with the reason.
func TestRegisterRefuses(t *testing.T) {
	spec := func(s Spec) Tool { return Tool{Spec: s, Handler: says("x")} }
	for _, tt := range []struct {
		tool Tool
		says string
	}{
		{spec(Spec{Name: ""}), "lower-case"},
		{spec(Spec{Name: "Read"}), "lower-case"},
		{spec(Spec{Name: "a..b"}), "lower-case"},
		{spec(Spec{Name: "a-b"}), "lower-case"},
		{spec(Spec{Name: "1a"}), "lower-case"},
		{spec(Spec{Name: strings.Repeat("a", 129)}), "128"},
		{Tool{Spec: Spec{Name: "a"}}, "handler"},
		{spec(Spec{Name: "a", InputSchema: json.RawMessage(`{"properties":{"size":{"type":"intger"}}}`)}), "/properties/size/type"},
		{spec(Spec{Name: "a", InputSchema: json.RawMessage(`{"$ref":"http://localhost/x"}`)}), "inputSchema"},
		{spec(Spec{Name: "a", InputSchema: json.RawMessage(`{"type":"string"}`)}), "no object"},
		{spec(Spec{Name: "a", InputSchema: json.RawMessage(`{"type":["array","null"]}`)}), "no object"},
		{spec(Spec{Name: "a", InputSchema: json.RawMessage(`false`)}), "no object"},
		{spec(Spec{Name: "a", OutputSchema: json.RawMessage(`{"type":1}`)}), "outputSchema"},
		{spec(Spec{Name: "a", Description: "x\xff"}), "UTF-8"},
		{spec(Spec{Name: "a", Description: strings.Repeat("x", 1<<16+1)}), "65536"},
		{spec(Spec{Name: "a", Title: "x\xff"}), "title"},
		{spec(Spec{Name: "a", TimeoutMS: -1}), "negative"},
		{spec(Spec{Name: "a", OutputLimit: -1}), "negative"},
		{spec(Spec{Name: "a", Repair: []string{"guess"}}), "json_string"},
		{spec(Spec{Name: "mcp__s__x"}), "mounted"},
	} {
		r := registry(t, echo("ok"))
		if err := r.Mount("mcp__s__", &source{}); err != nil {
			t.Fatal(err)
		}
		err := r.Register(tt.tool)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v, want an error with %q", tt.tool.Name, err, tt.says)
		}
		if got := r.Names(); !slices.Equal(got, []string{"ok"}) {
			t.Errorf("%q is in the registry: %q", tt.tool.Name, got)
		}
	}
	for _, name := range []string{"a", "read_file", "weather.lookup", "a1.b_2.c"} {
		if err := new(Registry).Register(spec(Spec{Name: name})); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// H055, H057, H048: a bad tool of a source is set aside with its reason, the
// others stay; no source can take another's name, or a local one.
func TestMount(t *testing.T) {
	bad := tool("bad", says("x"))
	bad.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"intger"}}}`)
	r := registry(t, tool("bash", says("builtin")))
	s := &source{tools: []Tool{tool("bash", says("s")), bad, tool("do it/now", says("s")), tool("bash", says("twice")), tool("in\x1bvisible", says("x"))}}
	if err := r.Mount("mcp__bash__", s); err != nil {
		t.Fatal(err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"bash", "mcp__bash__bash", "mcp__bash__do it/now"}) {
		t.Errorf("names %q", got)
	}
	q := r.Quarantined()
	if len(q) != 3 || q[0].Name != "mcp__bash__bad" || !strings.Contains(q[0].Reason, "/properties/n/type") || !strings.Contains(q[1].Reason, "twice") || !strings.Contains(q[2].Reason, "U+001B") {
		t.Errorf("quarantined: %+v", q)
	}
	d := Dispatcher{Policy: AllowAll}
	got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "bash"}, Call{Name: "mcp__bash__bash"}, Call{Name: "mcp__bash__bad"}))
	if got[0].ModelText() != "builtin" || got[1].ModelText() != "s" || got[2].Code != UnknownTool {
		t.Errorf("results %q", got)
	}
	for _, prefix := range []string{"mcp__bash__", "mcp__", "mcp__bash__x__", "", "mcp_", "a b__", "x"} {
		if err := r.Mount(prefix, &source{}); err == nil {
			t.Errorf("mount of %q is accepted", prefix)
		}
	}
	if err := r.Mount("mcp__other__", s); err != nil {
		t.Error(err)
	}
	if !r.Unmount("mcp__bash__") || r.Unmount("mcp__bash__") || slices.Contains(r.Names(), "mcp__bash__bash") {
		t.Errorf("after unmount: %q", r.Names())
	}
}

// H058: the next catalog has what a source changed; a catalog that was taken
// before stays as it was, and so do the calls of its turn.
func TestSourceChanges(t *testing.T) {
	var r Registry
	s := &source{tools: []Tool{tool("a", says("old"))}}
	if err := r.Mount("mcp__s__", s); err != nil {
		t.Fatal(err)
	}
	shown := r.Catalog()
	s.set(tool("a", says("new")), tool("b", says("new")))
	d := Dispatcher{Policy: AllowAll}
	turn := Calls(Call{Name: "mcp__s__a"}, Call{Name: "mcp__s__b"})
	if got := d.Dispatch(t.Context(), shown, turn); got[0].ModelText() != "old" || got[1].Code != UnknownTool {
		t.Errorf("with the catalog that was shown: %q", got)
	}
	if got := d.Dispatch(t.Context(), r.Catalog(), turn); got[0].ModelText() != "new" || got[1].ModelText() != "new" {
		t.Errorf("with the next one: %q", got)
	}
	if first := r.Catalog(); first != r.Catalog() {
		t.Error("an unchanged registry makes a new catalog each time")
	}
}

// What a caller does to a spec that it was given, or gave, changes nothing that
// is enforced.
func TestSpecsAreCopies(t *testing.T) {
	given := echo("t")
	r := registry(t, given)
	given.InputSchema[2] = 'X'
	*given.Annotations.OpenWorldHint = true
	for _, s := range r.Catalog().Specs() {
		s.InputSchema[2] = 'X'
		*s.Annotations.OpenWorldHint = true
	}
	got, err := r.Get("t")
	if err != nil {
		t.Fatal(err)
	}
	got.InputSchema[2] = 'X'
	again, _ := r.Get("t")
	if string(again.InputSchema) != `{"type":"object"}` || again.Annotations.OpenWorld() {
		t.Errorf("the registered spec became %s, %+v", again.InputSchema, again.Annotations)
	}
}

func TestNearNames(t *testing.T) {
	r := registry(t, echo("read_file"), echo("write_file"), echo("edit_file"), echo("glob"), echo("grep"))
	for wrong, want := range map[string]string{
		"Read_File": `did you mean "read_file"`,
		"readfile":  `did you mean "read_file"`,
		"greb":      `did you mean "grep"`,
		"run_sql":   `use a tool from the list`,
	} {
		_, err := r.Get(wrong)
		if CodeOf(err) != UnknownTool || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", wrong, err, want)
		}
	}
}

// H063: a near name is suggested, never run.
func TestGuessedToolsDoNotRun(t *testing.T) {
	r := registry(t, tool("delete_file", func(context.Context, Call) (Result, error) { t.Error("it ran"); return Result{}, nil }))
	d := Dispatcher{Policy: AllowAll}
	for _, name := range []string{"Delete_File", "deletefile", "delete-file", "delet_file", " delete_file"} {
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: name}))[0]; got.Code != UnknownTool || !strings.Contains(got.Message, `"delete_file"`) {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestCatalogOnly(t *testing.T) {
	r := registry(t, echo("a"), echo("b"), echo("c"))
	sub := r.Catalog().Only(func(s Spec) bool { return s.Name != "b" })
	if got := sub.Names(); !slices.Equal(got, []string{"a", "c"}) || sub.Len() != 2 {
		t.Errorf("names %q", got)
	}
	var d Dispatcher
	if got := d.Dispatch(t.Context(), sub, Calls(Call{Name: "b"}))[0]; got.Code != UnknownTool {
		t.Errorf("a tool that was not shown: %s", got)
	}
}

func TestRegistryValidate(t *testing.T) {
	e := echo("t")
	e.InputSchema = json.RawMessage(`{"type":"object","properties":{"user":{"type":"object","properties":{"email":{"type":"string"}},"required":["email"]}}}`)
	r := registry(t, e)
	if v, err := r.Validate("t", []byte(`{"user":{"email":"x"}}`)); v != nil || err != nil {
		t.Errorf("valid arguments: %v, %v", v, err)
	}
	if v, err := r.Validate("t", []byte(`{"user":{"email":7}}`)); err != nil || len(v) != 1 || v[0].Path != "/user/email" {
		t.Errorf("invalid arguments: %v, %v", v, err)
	}
	if _, err := r.Validate("t", []byte(`{"user"`)); CodeOf(err) != MalformedArguments {
		t.Errorf("cut arguments: %v", err)
	}
	if _, err := r.Validate("u", nil); CodeOf(err) != UnknownTool {
		t.Errorf("unknown tool: %v", err)
	}
}

// The digest names a definition, not a spelling of it.
func TestDigest(t *testing.T) {
	digest := func(schema, desc string) string {
		d, err := (&Spec{Name: "t", Description: desc, InputSchema: json.RawMessage(schema)}).Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a := digest(`{"type":"object","properties":{"v":{"type":"number"}}}`, "x")
	if b := digest(` {"properties": {"v":{"type":"number"}}, "type":"object"}`, "x"); a != b {
		t.Error("another order of keys is another definition")
	}
	if a == digest(`{"type":"object","properties":{"v":{"type":"string"}}}`, "x") || a == digest(`{"type":"object","properties":{"v":{"type":"number"}}}`, "y") {
		t.Error("another definition has the same digest")
	}
}

func TestRegistryConcurrently(t *testing.T) {
	var r Registry
	s := &source{}
	if err := r.Mount("mcp__s__", s); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := r.Register(echo(fmt.Sprintf("t%d_%d", g, i))); err != nil {
					t.Error(err)
				}
				s.set(echo("m"))
				r.Catalog().Specs()
			}
		})
	}
	wg.Wait()
	if got := r.Catalog().Len(); got != 201 {
		t.Errorf("%d tools, want 201", got)
	}
}

// What a source may do wrong costs its own tools only.
func TestHostileSources(t *testing.T) {
	r := registry(t, echo("ok"), echo("a__b"))
	for prefix, src := range map[string]Source{"a__": &source{}, "nil__": nil} {
		if err := r.Mount(prefix, src); err == nil {
			t.Errorf("mount of %q is accepted", prefix)
		}
	}
	s := &source{}
	if err := r.Mount("mcp__s__", s); err != nil {
		t.Fatal(err)
	}
	noHandler := tool("a", nil)
	s.set(tool("", says("x")), tool("bad\xff", says("x")), tool(strings.Repeat("a", 121), says("x")), noHandler, tool(strings.Repeat("ü", 120), says("x")))
	if got, q := r.Names(), r.Quarantined(); len(got) != 3 || len(q) != 4 || !strings.Contains(q[0].Reason, "name") || !strings.Contains(q[1].Reason, "UTF-8") || !strings.Contains(q[2].Reason, "128") || !strings.Contains(q[3].Reason, "handler") {
		t.Errorf("%d names, quarantined %+v", len(got), q)
	}
	many := make([]Tool, 5000)
	for i := range many {
		many[i] = tool(fmt.Sprint("t", i), says("x"))
	}
	s.set(many...)
	if q := r.Quarantined(); len(r.Names()) != 2+4096 || len(q) != 1 || !strings.Contains(q[0].Reason, "5000") {
		t.Errorf("%d names, quarantined %+v", len(r.Names()), q)
	}
	var broken breaks
	if err := r.Mount("mcp__p__", &broken); err != nil {
		t.Fatal(err)
	}
	s.set()
	for range 2 {
		if q := r.Quarantined(); len(q) != 1 || !strings.Contains(q[0].Reason, "the source failed") || q[0].Source != "mcp__p" || len(r.Names()) != 2 {
			t.Errorf("names %q, quarantined %+v", r.Names(), q)
		}
	}
	broken.mended = true
	if got := r.Names(); !slices.Contains(got, "mcp__p__a") || len(r.Quarantined()) != 0 {
		t.Errorf("mended: names %q, quarantined %+v", got, r.Quarantined())
	}
	if broken.mended = false; slices.Contains(r.Names(), "mcp__p__a") {
		t.Error("a source that failed since is still offered")
	}
	broken.mended = true
	if !slices.Contains(r.Names(), "mcp__p__a") {
		t.Error("a source that recovered is not asked again")
	}
	if r.Unmount("mcp__p__"); slices.Contains(r.Names(), "mcp__p__a") {
		t.Error("an unmounted tool is still there")
	}
	for i := range 9000 { // schemas that change for ever
		c := tool("c", says("x"))
		c.InputSchema = fmt.Appendf(nil, `{"type":"object","title":"%d"}`, i)
		s.set(c)
		r.Catalog()
	}
	if n := len(r.compiled); n > 8192 {
		t.Errorf("%d schemas are remembered", n)
	}
}

// breaks is a source that panics until it is mended.
type breaks struct{ mended bool }

func (b *breaks) Tools() ([]Tool, uint64) {
	if !b.mended {
		panic("connection lost")
	}
	return []Tool{echo("a")}, 0
}

// A tool without a schema takes nothing; where a tool comes from is not its own
// to say.
func TestRegisterFillsIn(t *testing.T) {
	bare := tool("t", says("ran"))
	bare.InputSchema, bare.Source = nil, "mcp__s"
	r := registry(t, bare)
	for args, code := range map[string]Code{``: "", `{}`: "", `{"x":1}`: InvalidArguments, `[]`: InvalidArguments} {
		d := Dispatcher{Policy: AllowAll}
		if got := d.Dispatch(t.Context(), r.Catalog(), Calls(Call{Name: "t", Arguments: json.RawMessage(args)}))[0]; got.Code != code {
			t.Errorf("%q: %s", args, got)
		}
	}
	null := tool("n", says("ran"))
	null.InputSchema = json.RawMessage("null")
	if got := one(t, new(Dispatcher), null, `{"x":1}`); got.Code != InvalidArguments {
		t.Errorf("a schema that is null: %s", got)
	}
	for range registry(t, echo("a"), echo("b")).Catalog().All() {
		break // and nothing is yielded any more
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Must returns a tool that is none")
			}
		}()
		Must(Tool{}, errors.New("x"))
	}()
	for _, name := range []string{strings.Repeat("x", 1<<20), "x" + strings.Repeat("ü", 100)} {
		if _, err := r.Get(name); len(err.Error()) > 300 || strings.Contains(err.Error(), `\x`) {
			t.Errorf("%.400v", err)
		}
	}
	if got := asError(errors.New("x")).Error(); got != "execution_error: x" {
		t.Errorf("the cause is told twice: %q", got)
	}
	if got, _ := r.Get("t"); got.Source != "" {
		t.Errorf("a local tool says that it comes from %q", got.Source)
	}
	if v, err := r.Validate("t", nil); v != nil || err != nil {
		t.Errorf("no arguments: %v, %v", v, err)
	}
}

func TestCloneIsDeep(t *testing.T) {
	s := Spec{Repair: []string{"a"}, Labels: map[string]string{"a": "b"}, OutputSchema: json.RawMessage("{}"), Annotations: Annotations{DestructiveHint: new(true), OpenWorldHint: new(true)}}
	want, _ := json.Marshal(s)
	c := s.Clone()
	c.Repair[0], c.Labels["a"], c.OutputSchema[0] = "x", "x", 'x'
	*c.Annotations.DestructiveHint, *c.Annotations.OpenWorldHint = false, false
	if got, _ := json.Marshal(s); string(got) != string(want) {
		t.Errorf("the original became %s", got)
	}
	if (Annotations{ReadOnlyHint: true}).Destructive() || !(Annotations{}).Destructive() {
		t.Error("what changes nothing destroys nothing; what says nothing may")
	}
	cat := registry(t, echo("t")).Catalog()
	cat.Only(func(s Spec) bool { s.InputSchema[0] = 'x'; return true })
	if got := cat.Specs()[0].InputSchema; got[0] != '{' {
		t.Errorf("the schema became %s", got)
	}
	var many Registry
	for i := range 6 {
		many.Register(echo(fmt.Sprint("read_file", i)))
	}
	if _, err := many.Get("read_file"); strings.Count(err.Error(), "read_file") != 4 { // the name, and three
		t.Errorf("%v", err)
	}
}
