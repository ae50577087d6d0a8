package callgate

import (
	"iter"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/closest"
	"github.com/callgate/callgate/schema"
)

// A Catalog is an immutable set of tools: what a model is shown in one turn, and
// what the calls of that turn are checked against. It is safe for concurrent
// use. The zero value is empty.
type Catalog struct {
	order []*entry
	tools map[string]*entry
}

func (c *Catalog) add(e *entry) {
	c.order = append(c.order, e)
	c.tools[e.Name] = e
}

// Len returns the number of tools.
func (c *Catalog) Len() int { return len(c.order) }

// All iterates over the specs in catalog order. They are copies: what is sent to
// a model can be edited without editing what is enforced.
func (c *Catalog) All() iter.Seq[Spec] {
	return func(yield func(Spec) bool) {
		for _, e := range c.order {
			if !yield(e.Spec.Clone()) {
				return
			}
		}
	}
}

// Specs returns what All iterates over.
func (c *Catalog) Specs() []Spec { return slices.Collect(c.All()) }

// Names returns the names of the tools in catalog order.
func (c *Catalog) Names() []string {
	names := make([]string, len(c.order))
	for i, e := range c.order {
		names[i] = e.Name
	}
	return names
}

// Get returns the tool with the given name, with a copy of its spec. The error
// is an [*Error] with [UnknownTool].
func (c *Catalog) Get(name string) (Tool, error) {
	e, ok := c.tools[name]
	if !ok {
		return Tool{}, c.unknown(name)
	}
	t := e.Tool
	t.Spec = e.Spec.Clone()
	return t, nil
}

// Only returns the part of the catalog that keep accepts: the 10 to 40 tools, of
// hundreds registered, that a model is shown at once.
func (c *Catalog) Only(keep func(Spec) bool) *Catalog {
	sub := &Catalog{tools: make(map[string]*entry)}
	for _, e := range c.order {
		if keep(e.Spec.Clone()) {
			sub.add(e)
		}
	}
	return sub
}

// Validate checks args against the inputSchema of the named tool, exactly as a
// call would be. It returns nil if they are valid; the error is an [*Error] with
// [UnknownTool] or [MalformedArguments].
func (c *Catalog) Validate(name string, args []byte) ([]schema.Violation, error) {
	e, ok := c.tools[name]
	if !ok {
		return nil, c.unknown(name)
	}
	v, err := e.validate(orEmpty(args))
	if err != nil {
		return nil, malformed(err)
	}
	return v, nil
}

func (c *Catalog) unknown(name string) *Error {
	msg := "there is no tool named " + quote(name)
	switch near := closest.Names(name, c.Names(), 3); {
	case len(near) > 0:
		msg += "; did you mean " + quoteAll(near, " or ") + "?"
	case c.Len() > 0:
		msg += "; use a tool from the list, such as " + quoteAll(closest.Least(name, c.Names(), 3), ", ")
	default:
		msg += "; no tool is available"
	}
	return &Error{Code: UnknownTool, Message: msg, NotStarted: true}
}

func quoteAll(names []string, sep string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, sep)
}
