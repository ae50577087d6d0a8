package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of the strict gate. They hold for every document, whatever its schema.
const (
	MaxBytes    = 1 << 20 // bytes of one document
	MaxDepth    = 64      // nested objects and arrays
	MaxNumber   = 64      // characters of one number
	MaxExponent = 400     // absolute value of a written exponent
)

// The kinds of [SyntaxError]. Their spelling is stable.
const (
	KindSyntax      = "syntax"       // not JSON
	KindTruncated   = "truncated"    // JSON so far, but it ends inside a value
	KindDuplicate   = "duplicate"    // the same name twice in one object
	KindCaseVariant = "case_variant" // in an object with declared names, one that differs from another only by case
	KindUTF8        = "utf8"         // a byte sequence that is not UTF-8
	KindSurrogate   = "surrogate"    // half of a UTF-16 surrogate pair
	KindDepth       = "depth"        // deeper than MaxDepth
	KindSize        = "size"         // longer than MaxBytes
	KindNumber      = "number"       // longer than MaxNumber or beyond MaxExponent
	KindTrailing    = "trailing"     // data after the first value
)

// A SyntaxError says why bytes are not strict JSON.
type SyntaxError struct {
	Path    string // JSON Pointer (RFC 6901) to the value or member at fault, "" for the root
	Offset  int64  // byte offset of the fault
	Kind    string // one of the Kind constants
	Message string // a sentence for the model; it includes the offset
}

func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return oneLine(clip(e.Path, maxPath)) + ": " + e.Message
}

// Strict reports why data is not strict JSON, or nil if it is.
//
// Strict JSON is RFC 8259 and, on top of it: valid UTF-8, no lone surrogates,
// no name twice in one object, and the limits of this package. Blank data is a
// syntax error here; callers that read it as {} do so before.
//
// Which names may not differ only by case (Unicode simple folding) needs the
// schema: in an object for which it declares names, no two may. [Schema.Validate]
// looks for those too.
func Strict(data []byte) *SyntaxError {
	_, err := read(data, reading{maxBytes: MaxBytes})
	return err
}

// reading is what one pass of the gate does and permits.
type reading struct {
	maxBytes int
	keep     bool              // build the value for the engine
	place    *place            // the declared names at the root: their case variants are refused
	onName   func(name string) // sees each member name in document order
}

// read checks data and, if asked to, returns its value as the engine wants it:
// nil, bool, json.Number, string, []any, map[string]any.
func read(data []byte, how reading) (any, *SyntaxError) {
	g := gate{d: data, reading: how}
	if len(data) > how.maxBytes {
		return nil, g.fail(how.maxBytes, KindSize, "the document has %d bytes; at most %d are accepted", len(data), how.maxBytes)
	}
	g.space()
	if g.i == len(data) {
		return nil, g.fail(g.i, KindSyntax, "malformed JSON: no value at all (%d bytes of blank input)", len(data))
	}
	v, err := g.value(1, how.place)
	if err != nil {
		return nil, err
	}
	g.space()
	if g.i < len(data) {
		return nil, g.fail(g.i, KindTrailing, "data after the first value at byte %d: send exactly one JSON value", g.i)
	}
	return v, nil
}

type gate struct {
	reading
	d    []byte
	i    int
	path []string
}

func (g *gate) fail(at int, kind, format string, args ...any) *SyntaxError {
	return &SyntaxError{Path: pointer(g.path), Offset: int64(at), Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (g *gate) cut(inside string) *SyntaxError {
	return g.fail(len(g.d), KindTruncated, "unterminated JSON: the input ends at byte %d inside %s", len(g.d), inside)
}

func (g *gate) unexpected(want string) *SyntaxError {
	r, n := utf8.DecodeRune(g.d[g.i:])
	if r == utf8.RuneError && n == 1 {
		return g.fail(g.i, KindUTF8, "invalid UTF-8 at byte %d", g.i)
	}
	return g.fail(g.i, KindSyntax, "malformed JSON at byte %d: found %s where %s is expected", g.i, strconv.QuoteRune(r), want)
}

func (g *gate) space() {
	for g.i < len(g.d) {
		switch g.d[g.i] {
		case ' ', '\t', '\n', '\r':
			g.i++
		default:
			return
		}
	}
}

// value reads the value at g.i; depth is the depth that a container here would
// have, at the names that are declared for it.
func (g *gate) value(depth int, at *place) (any, *SyntaxError) {
	if g.i >= len(g.d) {
		return nil, g.cut("a value")
	}
	switch c := g.d[g.i]; {
	case c == '{':
		if depth > MaxDepth {
			return nil, g.fail(g.i, KindDepth, "nested deeper than %d levels at byte %d", MaxDepth, g.i)
		}
		return g.object(depth, at)
	case c == '[':
		if depth > MaxDepth {
			return nil, g.fail(g.i, KindDepth, "nested deeper than %d levels at byte %d", MaxDepth, g.i)
		}
		return g.array(depth, at)
	case c == '"':
		s, err := g.str()
		if err != nil || !g.keep {
			return nil, err
		}
		return s, nil
	case c == '-' || c >= '0' && c <= '9':
		return g.number()
	case c == 't':
		return true, g.literal("true")
	case c == 'f':
		return false, g.literal("false")
	case c == 'n':
		return nil, g.literal("null")
	}
	for _, w := range []string{"NaN", "Infinity"} {
		if strings.HasPrefix(string(g.d[g.i:min(len(g.d), g.i+len(w))]), w) {
			return nil, g.fail(g.i, KindSyntax, "malformed JSON at byte %d: %s is not JSON; a number must be finite", g.i, w)
		}
	}
	return nil, g.unexpected("a value")
}

func (g *gate) literal(word string) *SyntaxError {
	start := g.i
	for j := 0; j < len(word); j++ {
		if g.i >= len(g.d) {
			return g.cut("a value")
		}
		if g.d[g.i] != word[j] {
			return g.fail(g.i, KindSyntax, "malformed JSON at byte %d: the value that starts at byte %d is not %s; a string needs quotes", g.i, start, word)
		}
		g.i++
	}
	return nil
}

func (g *gate) object(depth int, here *place) (any, *SyntaxError) {
	g.i++ // {
	var obj map[string]any
	if g.keep {
		obj = map[string]any{}
	}
	var seen map[string]string // folded (or exact) name → the name as first written
	g.space()
	if g.i < len(g.d) && g.d[g.i] == '}' {
		g.i++
		return any(obj), nil
	}
	for {
		if g.i >= len(g.d) {
			return nil, g.cut("an object")
		}
		if g.d[g.i] != '"' {
			return nil, g.unexpected("a quoted member name")
		}
		at := g.i
		name, err := g.str()
		if err != nil {
			return nil, err
		}
		g.path = append(g.path, name)
		key := name
		if here.declares() { // a record; in a map, such as of variables, "Path" and "PATH" are two
			key = fold(name)
		}
		if first, dup := seen[key]; dup {
			if first == name {
				return nil, g.fail(at, KindDuplicate, "duplicate member %s at byte %d: a name may appear once in an object", quote(name), at)
			}
			return nil, g.fail(at, KindCaseVariant, "member %s at byte %d differs from member %s only by case: send one of them", quote(name), at, quote(first))
		}
		if seen == nil {
			seen = map[string]string{}
		}
		seen[key] = name
		if declared, ok := here.variant(name, key); ok {
			return nil, g.fail(at, KindCaseVariant, "member %s at byte %d differs from the declared %s only by case: names are case-sensitive, use %[3]s", quote(name), at, quote(declared))
		}
		if g.onName != nil {
			g.onName(name)
		}
		g.space()
		if g.i >= len(g.d) {
			return nil, g.cut("an object")
		}
		if g.d[g.i] != ':' {
			return nil, g.unexpected("':'")
		}
		g.i++
		g.space()
		v, err := g.value(depth+1, here.member(name))
		if err != nil {
			return nil, err
		}
		if g.keep {
			obj[name] = v
		}
		g.path = g.path[:len(g.path)-1]
		g.space()
		if g.i >= len(g.d) {
			return nil, g.cut("an object")
		}
		switch g.d[g.i] {
		case ',':
			g.i++
			g.space()
		case '}':
			g.i++
			return any(obj), nil
		default:
			return nil, g.unexpected("',' or '}'")
		}
	}
}

func (g *gate) array(depth int, here *place) (any, *SyntaxError) {
	g.i++ // [
	arr := []any{}
	g.space()
	if g.i < len(g.d) && g.d[g.i] == ']' {
		g.i++
		return arr, nil
	}
	for n := 0; ; n++ {
		g.path = append(g.path, strconv.Itoa(n))
		v, err := g.value(depth+1, here.element())
		if err != nil {
			return nil, err
		}
		g.path = g.path[:len(g.path)-1]
		if g.keep {
			arr = append(arr, v)
		}
		g.space()
		if g.i >= len(g.d) {
			return nil, g.cut("an array")
		}
		switch g.d[g.i] {
		case ',':
			g.i++
			g.space()
		case ']':
			g.i++
			return arr, nil
		default:
			return nil, g.unexpected("',' or ']'")
		}
	}
}
