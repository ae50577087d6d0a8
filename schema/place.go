package schema

import (
	"encoding/binary"
	"slices"

	"github.com/pb33f/jsonschema/v6"
)

// A place is what a schema declares about names at one location of a value: the
// union over all schemas that may apply there, through references and every
// branch of anyOf and its like. The nil place declares nothing.
//
// A name that is declared by any of them is taken as it is; another one that
// differs from a declared name only by case is refused, even where a branch
// would accept it as unknown: two readers could disagree on what was sent.
type place struct {
	names  map[string]*place // declared name → the place of its value
	folded map[string]string // fold(name) → the declared name
	other  *place            // values of undeclared names
	item   *place            // items of an array
	twins  bool              // two declared names differ only by case
}

// variant reports the declared name that name, whose fold is folded, is a case
// variant of.
func (p *place) variant(name, folded string) (string, bool) {
	if p == nil {
		return "", false
	}
	if _, exact := p.names[name]; exact {
		return "", false
	}
	declared, ok := p.folded[folded]
	return declared, ok
}

// declares reports whether any name is declared here.
func (p *place) declares() bool { return p != nil && len(p.names) > 0 }

func (p *place) member(name string) *place {
	if p == nil {
		return nil
	}
	if sub, ok := p.names[name]; ok {
		return sub
	}
	return p.other
}

func (p *place) element() *place {
	if p == nil {
		return nil
	}
	return p.item
}

// Sets of schemas are like the states of an automaton made deterministic: as
// many as there are schemas in practice, exponentially many by malice.
const (
	maxPlaces    = 4 * MaxSubschemas
	maxPlaceWork = 1 << 20
)

type placer struct {
	g      *graph
	known  map[string]*place
	work   int
	tooBig bool
}

// places builds the place of s and of all below it.
func (g *graph) places(s *jsonschema.Schema) (*place, error) {
	b := &placer{g: g, known: map[string]*place{}}
	g.placer = b
	p := b.of([]*jsonschema.Schema{s})
	if b.tooBig {
		return nil, &CompileError{"", "the schema's alternatives declare too many different sets of fields: use fewer alternatives"}
	}
	return p, nil
}

func (b *placer) of(set []*jsonschema.Schema) *place {
	ids := map[int]bool{}
	var closure []*jsonschema.Schema
	for queue := slices.Clone(set); len(queue) > 0; queue = queue[1:] {
		id := b.g.id[queue[0]]
		if ids[id] {
			continue
		}
		ids[id] = true
		closure = append(closure, queue[0])
		queue = append(queue, b.g.applied(queue[0])...)
	}
	closure = slices.DeleteFunc(closure, func(s *jsonschema.Schema) bool {
		return len(s.Properties) == 0 && otherMembers(s) == nil && len(elements(s)) == 0
	})
	b.work += len(ids)
	if len(closure) == 0 {
		return nil
	}
	slices.SortFunc(closure, func(x, y *jsonschema.Schema) int { return b.g.id[x] - b.g.id[y] })
	var key []byte
	for _, s := range closure {
		key = binary.AppendUvarint(key, uint64(b.g.id[s]))
	}
	if p, ok := b.known[string(key)]; ok {
		return p
	}
	p := &place{}
	b.known[string(key)] = p
	if len(b.known) > maxPlaces || b.work > maxPlaceWork {
		b.tooBig = true
		return p
	}
	var other, items []*jsonschema.Schema
	names := map[string]bool{}
	for _, s := range closure {
		other = append(other, otherMembers(s)...)
		items = append(items, elements(s)...)
		for n := range s.Properties {
			names[n] = true
		}
	}
	if len(names) > 0 {
		p.names, p.folded = make(map[string]*place, len(names)), make(map[string]string, len(names))
	}
	for _, n := range b.g.inOrder(sortedKeys(names)) {
		subs := slices.Clone(other)
		for _, s := range closure {
			if sub := s.Properties[n]; sub != nil {
				subs = append(subs, sub)
			}
		}
		b.work += len(closure) + len(subs)
		p.names[n] = b.of(subs)
		f := fold(n)
		if _, ok := p.folded[f]; ok {
			p.twins = true
		} else {
			p.folded[f] = n
		}
	}
	p.other, p.item = b.of(other), b.of(items)
	return p
}
