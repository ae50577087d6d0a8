package callgate

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/schema"
)

// A Registry holds tools by name. The zero value is empty and ready to use; it
// is safe for concurrent use. What a model is shown and what is enforced is a
// [Catalog], a snapshot of it.
type Registry struct {
	mu       sync.Mutex
	order    []string // names of local tools in order of registration
	tools    map[string]*entry
	mounts   []*mount
	compiled map[[sha256.Size]byte]*schema.Schema // by digest of the raw schema
	snapshot *Catalog                             // nil if something changed since
}

// An entry is a tool with its compiled schemas. It is never modified.
type entry struct {
	Tool
	input  *schema.Schema
	output *schema.Schema // nil if the tool has none
	loc    string         // where it was registered, for the error of a duplicate
}

// A Source offers tools that may change while the program runs: a server, a
// directory of skills. Its methods must be safe for concurrent use and return
// at once; what takes time happens elsewhere.
type Source interface {
	// Tools returns the tools on offer and a version that changes whenever
	// they do. Names are the source's own, without a prefix.
	Tools() (tools []Tool, version uint64)
}

type mount struct {
	prefix      string
	source      Source
	loc         string
	version     uint64
	read        bool
	entries     []*entry
	quarantined []Quarantined
}

// Quarantined is a mounted tool that is not offered, and why.
type Quarantined struct {
	Name   string `json:"name"` // with the prefix of its mount
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// Register adds tools, all or none. The error of a tool that is refused says
// where and why; that of a name that is taken names both places. Use
// [Registry.Replace] where that is meant.
func (r *Registry) Register(tools ...Tool) error { return r.add(tools, caller(), false) }

// Replace is Register for names that may be taken. A tool that is replaced keeps
// its place in the catalog.
func (r *Registry) Replace(tools ...Tool) error { return r.add(tools, caller(), true) }

func (r *Registry) add(tools []Tool, loc string, replace bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := maps.Clone(r.tools)
	if next == nil {
		next = make(map[string]*entry)
	}
	order := slices.Clone(r.order)
	inBatch := make(map[string]bool, len(tools))
	for _, t := range tools {
		old, taken := next[t.Name]
		if taken && (!replace || inBatch[t.Name]) {
			return fmt.Errorf("tool %q (registered at %s) is already registered at %s", t.Name, loc, old.loc)
		}
		if err := checkLocalName(t.Name); err != nil {
			return fmt.Errorf("tool %q at %s: %w", t.Name, loc, err)
		}
		if m := r.mountOf(t.Name); m != nil {
			return fmt.Errorf("tool %q (registered at %s) falls under %q, mounted at %s", t.Name, loc, m.prefix, m.loc)
		}
		t.Source = ""
		e, err := r.compile(t, loc)
		if err != nil {
			return fmt.Errorf("tool %q at %s: %w", t.Name, loc, err)
		}
		if !taken {
			order = append(order, t.Name)
		}
		next[t.Name] = e
		inBatch[t.Name] = true
	}
	r.tools, r.order, r.snapshot = next, order, nil
	return nil
}

// Mount adds every tool that src has, now and later, under names that start with
// prefix ("mcp__github__"). A tool that cannot be offered (a bad name, a schema
// that does not compile) is quarantined, see [Registry.Quarantined]; the others
// stay. Mounted tools can never take the name of a local one, since no two
// mounts and no local tool may share a prefix.
func (r *Registry) Mount(prefix string, src Source) error {
	loc := caller()
	r.mu.Lock()
	defer r.mu.Unlock()
	if src == nil {
		return fmt.Errorf("mount %q at %s: the source is nil", prefix, loc)
	}
	if !mountPrefix.MatchString(prefix) {
		return fmt.Errorf("mount %q at %s: a prefix is letters, digits, dots, dashes and single underscores, and ends in two underscores, like mcp__github__", prefix, loc)
	}
	for _, m := range r.mounts {
		if strings.HasPrefix(prefix, m.prefix) || strings.HasPrefix(m.prefix, prefix) {
			return fmt.Errorf("mount %q (at %s) overlaps %q, mounted at %s", prefix, loc, m.prefix, m.loc)
		}
	}
	for name, e := range r.tools {
		if strings.HasPrefix(name, prefix) {
			return fmt.Errorf("mount %q (at %s) would cover tool %q, registered at %s", prefix, loc, name, e.loc)
		}
	}
	r.mounts = append(r.mounts, &mount{prefix: prefix, source: src, loc: loc})
	r.snapshot = nil
	return nil
}

// Unmount removes what was mounted under prefix and reports whether anything was.
// Catalogs that were taken before keep it.
func (r *Registry) Unmount(prefix string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.mounts, func(m *mount) bool { return m.prefix == prefix })
	if i < 0 {
		return false
	}
	r.mounts = slices.Delete(r.mounts, i, i+1)
	r.snapshot = nil
	return true
}

// Catalog returns what the registry and its sources hold now. A turn keeps the
// catalog that it showed to the model: a tool that changes meanwhile changes the
// next turn, not the calls that are on their way.
func (r *Registry) Catalog() *Catalog {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.mounts {
		if r.refresh(m) {
			r.snapshot = nil
		}
	}
	if r.snapshot != nil {
		return r.snapshot
	}
	c := &Catalog{tools: make(map[string]*entry, len(r.order))}
	for _, name := range r.order {
		c.add(r.tools[name])
	}
	for _, m := range r.mounts {
		for _, e := range m.entries {
			c.add(e)
		}
	}
	r.snapshot = c
	return c
}

// refresh reads the source of m again if it changed.
func (r *Registry) refresh(m *mount) bool {
	tools, version, err := m.ask()
	if err != nil {
		// Others' tools stay; those of this source wait until it can say what it has.
		m.read, m.entries = false, nil
		m.quarantined = []Quarantined{{m.prefix + "*", strings.TrimSuffix(m.prefix, "__"), err.Error()}}
		return true
	}
	if m.read && version == m.version {
		return false
	}
	m.read, m.version = true, version
	m.entries, m.quarantined = nil, nil
	if n := len(tools); n > maxMounted {
		tools = tools[:maxMounted]
		m.quarantined = append(m.quarantined, Quarantined{m.prefix + "*", strings.TrimSuffix(m.prefix, "__"),
			fmt.Sprintf("the source offers %d tools; those after the first %d are left out", n, maxMounted)})
	}
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		t.Name = m.prefix + t.Name
		t.Source = strings.TrimSuffix(m.prefix, "__")
		err := checkMountedName(t.Name)
		if err == nil && t.Name == m.prefix {
			err = fmt.Errorf("a tool needs a name")
		}
		if err == nil && seen[t.Name] {
			err = fmt.Errorf("the source offers this name twice; the first one stays")
		}
		var e *entry
		if err == nil {
			e, err = r.compile(t, m.loc)
		}
		if err != nil {
			m.quarantined = append(m.quarantined, Quarantined{t.Name, t.Source, err.Error()})
			continue
		}
		seen[t.Name] = true
		m.entries = append(m.entries, e)
	}
	return true
}

// ask contains a panic of the source: one that fails must not take the registry
// with it.
func (m *mount) ask() (tools []Tool, version uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the source failed when it was asked for its tools: %v", p)
		}
	}()
	tools, version = m.source.Tools()
	return tools, version, nil
}

// Quarantined returns the mounted tools that are not offered, with the reasons.
func (r *Registry) Quarantined() []Quarantined {
	r.Catalog()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Quarantined
	for _, m := range r.mounts {
		out = append(out, m.quarantined...)
	}
	return out
}

// Get returns the tool with the given name. The error of an unknown name is an
// [*Error] with [UnknownTool] that names the nearest ones.
func (r *Registry) Get(name string) (Tool, error) { return r.Catalog().Get(name) }

// Names returns the names of all tools: the local ones in order of registration,
// then those of each mount in its source's order.
func (r *Registry) Names() []string { return r.Catalog().Names() }

// Validate checks args against the inputSchema of the named tool. It returns nil
// if they are valid; the error is an [*Error] with [UnknownTool] or
// [MalformedArguments].
func (r *Registry) Validate(name string, args []byte) ([]schema.Violation, error) {
	return r.Catalog().Validate(name, args)
}

func (r *Registry) compile(t Tool, loc string) (*entry, error) {
	if t.Handler == nil {
		return nil, fmt.Errorf("it has no handler")
	}
	if err := checkText(t.Description); err != nil {
		return nil, fmt.Errorf("description: %w", err)
	}
	if err := checkText(t.Title); err != nil {
		return nil, fmt.Errorf("title: %w", err)
	}
	if t.TimeoutMS < 0 || t.OutputLimit < 0 {
		return nil, fmt.Errorf("timeoutMs and outputLimit must not be negative")
	}
	for _, kind := range t.Repair {
		if !slices.Contains(schema.RepairKinds(), kind) {
			return nil, fmt.Errorf("repair %q is not one of %s", kind, strings.Join(schema.RepairKinds(), ", "))
		}
	}
	e := &entry{Tool: t, loc: loc}
	e.Spec = t.Spec.Clone()
	if len(e.InputSchema) == 0 || string(e.InputSchema) == "null" {
		e.InputSchema = []byte(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	var err error
	if e.input, err = r.schema(e.InputSchema); err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	if !e.input.AdmitsObject() {
		return nil, fmt.Errorf("inputSchema: its type leaves no object, and arguments are always one, so the tool could never be called")
	}
	if len(e.OutputSchema) > 0 {
		if e.output, err = r.schema(e.OutputSchema); err != nil {
			return nil, fmt.Errorf("outputSchema: %w", err)
		}
	}
	return e, nil
}

func (r *Registry) schema(raw []byte) (*schema.Schema, error) {
	digest := sha256.Sum256(raw)
	if s, ok := r.compiled[digest]; ok {
		return s, nil
	}
	s, err := schema.Compile(raw)
	if err != nil {
		return nil, err
	}
	if r.compiled == nil {
		r.compiled = make(map[[sha256.Size]byte]*schema.Schema)
	}
	if len(r.compiled) >= maxCompiled { // a source may change its tools for ever
		clear(r.compiled)
	}
	r.compiled[digest] = s
	return s, nil
}

func (r *Registry) mountOf(name string) *mount {
	for _, m := range r.mounts {
		if strings.HasPrefix(name, m.prefix) {
			return m
		}
	}
	return nil
}

var (
	localName   = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)
	mountPrefix = regexp.MustCompile(`^[A-Za-z0-9.-]+(_[A-Za-z0-9.-]+)*__([A-Za-z0-9.-]+(_[A-Za-z0-9.-]+)*__)*$`)
)

const (
	maxName     = 128     // characters; MCP's recommendation
	maxText     = 1 << 16 // bytes of a description
	maxMounted  = 4096    // tools of one source
	maxCompiled = 8192    // schemas that are remembered; those in use stay with their tools
)

func checkLocalName(name string) error {
	if !localName.MatchString(name) || len(name) > maxName {
		return fmt.Errorf("a name is lower-case words of letters, digits and underscores, with dots between segments, at most %d characters (like weather.lookup)", maxName)
	}
	return nil
}

// checkMountedName takes what servers really use; a provider's codec maps what
// the provider refuses.
func checkMountedName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName {
		return fmt.Errorf("a name is valid UTF-8 of at most %d characters, the prefix included", maxName)
	}
	for _, c := range name {
		if !unicode.IsGraphic(c) {
			return fmt.Errorf("a name has no control or invisible characters (found %U)", c)
		}
	}
	return nil
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("it is not valid UTF-8")
	}
	if len(s) > maxText {
		return fmt.Errorf("it has %d bytes; the limit is %d", len(s), maxText)
	}
	return nil
}

func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "unknown location"
	}
	return fmt.Sprintf("%s:%d", file, line)
}
