package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
