package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of repair: slips that models are known to make. Their spelling is stable, for it stands in
// configuration and in records.
const (
	RepairJSONString    = "json_string"     // an array or object sent as a string that holds its JSON text
	RepairNumberString  = "number_string"   // "42" for 42: a string that is exactly a JSON number
	RepairBoolString    = "bool_string"     // "true" for true: exactly true or false
	RepairNullOptional  = "null_optional"   // null for an optional declared member that was not wanted
	RepairScalarToArray = "scalar_to_array" // "a" for ["a"]: a lone string, number or boolean where a list is wanted
)

// RepairKinds lists all kinds in the order in which they are tried at one place.
func RepairKinds() []string {
	return []string{RepairJSONString, RepairNumberString, RepairBoolString, RepairNullOptional, RepairScalarToArray}
}

// A RepairNote records one repair, for the record of the call and for the model.
type RepairNote struct {
	Path    string `json:"path"` // JSON Pointer (RFC 6901) of the value, as it stood when it was repaired
	Kind    string `json:"kind"`
	Message string `json:"message"` // one sentence: what was sent, how it was read
}

// Bounds of one Repair.
const (
	maxRepairs    = 32      // values repaired in one document
	maxRepairWork = 8 << 20 // bytes validated in all
	maxRepairRuns = 256     // validations in all
)

// Repair looks for a document that s accepts and that differs from data only by the named kinds of repair, each at a value
// that s rejects. ok says that the returned bytes are valid; they are data itself, without notes, where data is valid or
// where no such document was found (ok is then false). The bytes outside a repaired value are those of data: nothing is encoded anew, numbers
// stay text. Unknown kinds do nothing; without kinds nothing is ever repaired.
//
// No other change is ever made. What s accepts is left alone: a string that holds JSON stays a string where the schema takes
// strings. Cut-off JSON is never completed, no member is renamed, none is dropped but a null that the schema declares and does not
// require, "False", "yes", "NaN" and " 42" stay strings. A repair without which the rest would be valid is not made. Work is bounded: 32 repairs,
// 256 validations, 8 MiB validated; past that ok is false.
//
// A document is data that [Strict] accepts; what was inside a string must pass it too. A caller that
// decides on bytes (policy, approval, record) must use the repaired ones from here on.
func (s *Schema) Repair(data []byte, kinds []string) (repaired []byte, notes []RepairNote, ok bool) {
	if s.Check(data) {
		return data, nil, true
	}
	r := repairer{schema: s, kinds: kinds, work: maxRepairWork, runs: maxRepairRuns}
	found, strict := r.validate(data)
	switch {
	case !strict:
		return data, nil, false
	case len(found) == 0:
		return data, nil, true
	}
	repaired, ok = r.solve(data, found)
	if !ok || !r.needed(data) {
		return data, nil, false
	}
	for _, done := range r.done {
		notes = append(notes, done.note())
	}
	return repaired, notes, true
}

// repairer is one run: a search, depth first, in which the first repair that helps is kept.
type repairer struct {
	schema *Schema
	kinds  []string
	work   int // bytes that may still be validated
	runs   int // validations that may still be made
	done   []repair
}

// repair is one change at one place.
type repair struct {
	path, kind string
	sent       string // the kind of JSON that was there
	read       string // the kind of JSON that is there now
}

func (d repair) note() RepairNote {
	n := RepairNote{Path: d.path, Kind: d.kind}
	switch d.kind {
	case RepairNullOptional:
		n.Message = "null was sent for an optional member; it was read as absent: leave the member out"
	case RepairScalarToArray:
		n.Message = fmt.Sprintf("%s was sent where a list is expected; it was read as a list of one: send an array", d.sent)
	default:
		n.Message = fmt.Sprintf("%s was sent inside a string; it was read as %[1]s: send it without the quotes", d.read)
	}
	return n
}

// validate returns the violations, and false where there is no verdict: not strict JSON, out of work, engine failure.
func (r *repairer) validate(data []byte) (Violations, bool) {
	if r.runs--; r.runs < 0 {
		return nil, false
	}
	if r.work -= len(data); r.work < 0 {
		return nil, false
	}
	found, err := r.schema.Validate(data)
	return found, err == nil
}

// solve repairs one violated value after the other until none is left. A repair is kept where the violations at and below
// its place are gone, or, for opened JSON text, where all that are left are inside it.
func (r *repairer) solve(data []byte, found Violations) ([]byte, bool) {
	for len(found) > 0 {
		if len(r.done) == maxRepairs {
			return nil, false
		}
		next, left, ok := r.step(data, found)
		if !ok {
			return nil, false
		}
		data, found = next, left
	}
	return data, true
}

// step makes the first repair that helps.
func (r *repairer) step(data []byte, found Violations) ([]byte, Violations, bool) {
	tried := map[string]bool{}
	for _, v := range found {
		if tried[v.Path] || !repairable(v.Keyword) {
			continue
		}
		tried[v.Path] = true
		at, ok := locate(data, v.Path)
		if !ok {
			continue // a missing member, or a path cut for its length
		}
		var opened []byte
		var openedLeft Violations
		var openedAs repair
		for _, kind := range RepairKinds() {
			if !slices.Contains(r.kinds, kind) {
				continue
			}
			next, change, ok := r.apply(data, at, v.Path, kind)
			if !ok {
				continue
			}
			left, ok := r.validate(next)
			if !ok {
				continue
			}
			atPlace := slices.ContainsFunc(left, func(l Violation) bool { return l.Path == v.Path })
			inside := slices.ContainsFunc(left, func(l Violation) bool { return under(l.Path, v.Path) })
			switch {
			case !inside && !worse(left, found):
				r.done = append(r.done, change)
				return next, left, true
			case kind == RepairJSONString && !atPlace && opened == nil:
				opened, openedLeft, openedAs = next, left, change
			}
		}
		if opened != nil {
			r.done = append(r.done, openedAs)
			return opened, openedLeft, true
		}
	}
	return nil, nil, false
}

// repairable reports whether a keyword speaks of the value's own kind. Others, such as additionalProperties at an unknown name, are no
// slip of spelling.
func repairable(keyword string) bool {
	switch keyword {
	case "type", "enum", "const", "anyOf", "oneOf":
		return true
	}
	return false
}

// worse reports whether a violation is left that was not there before: a repair may not move the fault elsewhere.
func worse(left, before Violations) bool {
	return slices.ContainsFunc(left, func(l Violation) bool {
		return !slices.ContainsFunc(before, func(b Violation) bool { return b.Path == l.Path && b.Keyword == l.Keyword })
	})
}

// apply makes one repair, if the value is of its kind.
func (r *repairer) apply(data []byte, at span, path, kind string) ([]byte, repair, bool) {
	value := jsontext.Value(data[at.start:at.end])
	change := repair{path: path, kind: kind, sent: kindName(value.Kind())}
	var by []byte
	switch kind {
	case RepairNullOptional:
		if value.Kind() != 'n' || !r.schema.declares(path, at.members) {
			return nil, change, false
		}
		return withoutMember(data, at), change, true
	case RepairScalarToArray:
		switch value.Kind() {
		case '"', '0', 't', 'f':
		default:
			return nil, change, false
		}
		change.read = "a list"
		by = slices.Concat([]byte("["), value, []byte("]"))
	default:
		if value.Kind() != '"' {
			return nil, change, false
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return nil, change, false
		}
		inner := jsontext.Value(text)
		if kind == RepairJSONString {
			inner = jsontext.Value(strings.Trim(string(text), " \t\r\n"))
		}
		if !holds(inner, kind) || Strict(inner) != nil {
			return nil, change, false
		}
		change.read, by = kindName(inner.Kind()), inner
	}
	return splice(data, at.start, at.end, by), change, true
}

// holds reports whether the text of a string starts as the kind says. That it is JSON to its end, Strict tells.
func holds(text jsontext.Value, kind string) bool {
	if len(text) == 0 {
		return false
	}
	switch c := text[0]; kind {
	case RepairJSONString:
		return c == '{' || c == '['
	case RepairNumberString:
		last := text[len(text)-1]
		return (c == '-' || c >= '0' && c <= '9') && last >= '0' && last <= '9'
	case RepairBoolString:
		return string(text) == "true" || string(text) == "false"
	}
	return false
}

// declares reports whether the schema has the last name of the path among its properties at that place. The entries of a map have
// names of the model's own: a null there is an entry, not an unused member.
func (s *Schema) declares(path string, members []bool) bool {
	p, declared, n := s.root, false, 0
	for token := range jsontext.Pointer(path).Tokens() {
		if p == nil {
			return false
		}
		if members[n] {
			_, declared = p.names[token]
			p = p.member(token)
		} else {
			p, declared = p.element(), false
		}
		n++
	}
	return declared
}

// needed reports whether each repair was: leaving one out, and those inside it, the document must be invalid.
// Order may fool the search: a later repair can switch an if, or a branch of anyOf, to where an earlier one was not called for.
func (r *repairer) needed(data []byte) bool {
	if len(r.done) < 2 {
		return true // without it, the document was invalid
	}
	for skip := range r.done {
		cur, ok := r.replay(data, skip)
		if !ok {
			continue
		}
		if found, strict := r.validate(cur); strict && len(found) == 0 {
			return false
		} else if !strict && (r.runs < 0 || r.work < 0) {
			return false
		}
	}
	return true
}

// replay makes all repairs but one and what stands inside it; it is false where they do not fit without it.
func (r *repairer) replay(data []byte, skip int) ([]byte, bool) {
	for i, d := range r.done {
		if i == skip || i > skip && under(d.path, r.done[skip].path) {
			continue
		}
		at, ok := locate(data, d.path)
		if !ok {
			return nil, false
		}
		next, _, ok := r.apply(data, at, d.path, d.kind)
		if !ok {
			return nil, false
		}
		data = next
	}
	return data, true
}

// kindName is a kind of JSON in words.
func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case '{', '}':
		return "an object"
	case '[', ']':
		return "an array"
	}
	return "null"
}
