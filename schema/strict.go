package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
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
	KindCaseVariant = "case_variant" // a name that differs from another, or from a declared one, only by case
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
// no name twice in one object, no two names in one object that differ only by
// case (Unicode simple folding), and the limits of this package. Blank data is
// a syntax error here; callers that read it as {} do so before.
//
// A case variant of a *declared* name needs the schema; [Schema.Validate] looks
// for those too.
func Strict(data []byte) *SyntaxError {
	_, err := read(data, reading{maxBytes: MaxBytes, foldNames: true})
	return err
}

// reading is what one pass of the gate does and permits.
type reading struct {
	maxBytes  int
	foldNames bool              // refuse names that differ only by case
	keep      bool              // build the value for the engine
	place     *place            // the declared names at the root: their case variants are refused
	onName    func(name string) // sees each member name in document order
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
		if g.foldNames {
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

func (g *gate) number() (any, *SyntaxError) {
	start := g.i
	digits := func() (int, *SyntaxError) {
		from := g.i
		for g.i < len(g.d) && g.d[g.i] >= '0' && g.d[g.i] <= '9' {
			g.i++
		}
		if g.i > from {
			return g.i - from, nil
		}
		if g.i >= len(g.d) {
			return 0, g.cut("a number")
		}
		return 0, g.unexpected("a digit")
	}
	if g.d[g.i] == '-' {
		g.i++
	}
	if g.i < len(g.d) && g.d[g.i] == '0' {
		g.i++
		if g.i < len(g.d) && g.d[g.i] >= '0' && g.d[g.i] <= '9' {
			return nil, g.fail(start, KindSyntax, "malformed JSON at byte %d: a number may not start with 0 and another digit", start)
		}
	} else if _, err := digits(); err != nil {
		return nil, err
	}
	if g.i < len(g.d) && g.d[g.i] == '.' {
		g.i++
		if _, err := digits(); err != nil {
			return nil, err
		}
	}
	if g.i < len(g.d) && (g.d[g.i] == 'e' || g.d[g.i] == 'E') {
		g.i++
		if g.i < len(g.d) && (g.d[g.i] == '+' || g.d[g.i] == '-') {
			g.i++
		}
		from := g.i
		if _, err := digits(); err != nil {
			return nil, err
		}
		text := string(g.d[from:min(g.i, from+MaxNumber)])
		if x, err := strconv.Atoi(text); err != nil || x > MaxExponent {
			return nil, g.fail(start, KindNumber, "the number at byte %d has an exponent beyond ±%d", start, MaxExponent)
		}
	}
	if g.i-start > MaxNumber {
		return nil, g.fail(start, KindNumber, "the number at byte %d has %d characters; at most %d are accepted", start, g.i-start, MaxNumber)
	}
	if !g.keep {
		return nil, nil
	}
	return json.Number(g.d[start:g.i]), nil
}

// str reads the string whose opening quote is at g.i and returns its text.
func (g *gate) str() (string, *SyntaxError) {
	start := g.i
	g.i++
	from := g.i
	var text []byte // only once an escape was met
	inside := "a string"
	for {
		if g.i >= len(g.d) {
			return "", g.cut(fmt.Sprintf("%s that starts at byte %d", inside, start))
		}
		switch c := g.d[g.i]; {
		case c == '"':
			s := string(g.d[from:g.i])
			g.i++
			if text != nil {
				s = string(text) + s
			}
			return s, nil
		case c == '\\':
			text = append(text, g.d[from:g.i]...)
			r, err := g.escape(start)
			if err != nil {
				return "", err
			}
			text = utf8.AppendRune(text, r)
			from = g.i
		case c < 0x20:
			return "", g.fail(g.i, KindSyntax, "malformed JSON: control character at byte %d inside a string (U+%04X); write it as %s", g.i, c, escapeOf(c))
		case c < utf8.RuneSelf:
			g.i++
		default:
			r, n := utf8.DecodeRune(g.d[g.i:])
			if r == utf8.RuneError && n <= 1 {
				if !utf8.FullRune(g.d[g.i:]) {
					return "", g.cut(fmt.Sprintf("%s that starts at byte %d", inside, start))
				}
				return "", g.fail(g.i, KindUTF8, "invalid UTF-8 at byte %d inside a string", g.i)
			}
			g.i += n
		}
	}
}

// escape reads the escape whose backslash is at g.i.
func (g *gate) escape(start int) (rune, *SyntaxError) {
	at := g.i
	cut := func() *SyntaxError { return g.cut(fmt.Sprintf("a string that starts at byte %d", start)) }
	if at+1 >= len(g.d) {
		return 0, cut()
	}
	g.i += 2
	switch c := g.d[at+1]; c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		u, err := g.hex4(cut)
		if err != nil {
			return 0, err
		}
		if u < 0xD800 || u > 0xDFFF {
			return u, nil
		}
		lone := func() (rune, *SyntaxError) {
			return 0, g.fail(at, KindSurrogate, "lone surrogate \\u%04x at byte %d: escape both halves of the pair, or write the character itself", u, at)
		}
		if u >= 0xDC00 {
			return lone()
		}
		for _, want := range []byte(`\u`) {
			if g.i >= len(g.d) {
				return 0, cut()
			}
			if g.d[g.i] != want {
				return lone()
			}
			g.i++
		}
		low, err := g.hex4(cut)
		if err != nil {
			return 0, err
		}
		if low < 0xDC00 || low > 0xDFFF {
			return lone()
		}
		return 0x10000 + (u-0xD800)<<10 + (low - 0xDC00), nil
	}
	return 0, g.fail(at, KindSyntax, `malformed JSON at byte %d: invalid escape; JSON knows \" \\ \/ \b \f \n \r \t \uXXXX`, at)
}

func (g *gate) hex4(cut func() *SyntaxError) (rune, *SyntaxError) {
	var v rune
	for range 4 {
		if g.i >= len(g.d) {
			return 0, cut()
		}
		x, ok := hexDigit(g.d[g.i])
		if !ok {
			return 0, g.unexpected("a hexadecimal digit")
		}
		v = v<<4 | rune(x)
		g.i++
	}
	return v, nil
}

func hexDigit(c byte) (int, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

func escapeOf(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// fold maps names that are equal under Unicode simple folding, and only those,
// to one string: strings.EqualFold(a, b) is fold(a) == fold(b).
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return least
	}, name)
}
