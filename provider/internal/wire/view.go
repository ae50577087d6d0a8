package wire

import (
	"encoding/json"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

// A View is a catalog as one provider accepts it: for each tool a name and a
// schema, and the way back. It is immutable. The nil View has no tools.
type View struct {
	limits llm.Limits
	tools  []ShownTool
	shown  map[string]string // by name in the catalog
	names  map[string]string // by shown name
	keys   map[string]*keys  // by name in the catalog; only tools with renamed properties
}

// A ShownTool is what a provider is sent about one tool.
type ShownTool struct {
	Name        string // as the catalog has it
	Shown       string
	Description string
	Schema      json.RawMessage
}

// NewView returns the view of cat, which may be nil.
func NewView(cat *callgate.Catalog, limits llm.Limits) *View {
	v := &View{limits: limits, names: map[string]string{}, keys: map[string]*keys{}}
	if cat == nil {
		return v
	}
	v.shown = rename(cat.Names(), limits.Name)
	for spec := range cat.All() {
		t := ShownTool{Name: spec.Name, Shown: v.shown[spec.Name], Description: spec.Description}
		var k *keys
		t.Schema, k = lower(spec.InputSchema, limits)
		if k != nil {
			v.keys[spec.Name] = k
		}
		v.names[t.Shown] = spec.Name
		v.tools = append(v.tools, t)
	}
	return v
}

// Tools returns the tools in catalog order.
func (v *View) Tools() []ShownTool { return v.tools }

// Name returns the catalog's name of the tool that a model calls shown. A model
// may also use the catalog's own name, and a name that is neither stays as it is.
func (v *View) Name(shown string) string {
	if name, ok := v.names[shown]; ok {
		return name
	}
	return shown
}

// Shown returns the name that the provider accepts for the tool. For a tool that
// the catalog no longer has, which a history may still call, one is made.
func (v *View) Shown(name string) string {
	if s, ok := v.shown[name]; ok {
		return s
	}
	if v.limits.Name.Accepts(name) {
		return name
	}
	return rename([]string{name}, v.limits.Name)[name]
}

// Arguments returns what the named tool gets for what a model sent: properties
// have the names of the tool's own schema. All other bytes stay.
func (v *View) Arguments(name string, sent json.RawMessage) json.RawMessage {
	if k := v.keys[name]; k != nil {
		return replaceNames(sent, k.original)
	}
	return sent
}

// Replay returns arguments of the named tool as a model is shown them in its
// history: one JSON object, see the function [Replay].
func (v *View) Replay(name string, args json.RawMessage) json.RawMessage {
	args = Replay(args)
	if k := v.keys[name]; k != nil {
		return replaceNames(args, k.shown)
	}
	return args
}
