package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// A wordReader joins the parts of a word. Quoted and unquoted text are kept
// apart in plain, where quoted characters are 0: braces, globs and tildes only
// mean something unquoted.
type wordReader struct {
	text  strings.Builder
	plain []byte
	why   Reason
	many  bool
	split bool // an unquoted expansion: its value is split into words
	known int  // length of the text that is certain, -1 while all is
	first Reason
}

func (r *reader) word(w *syntax.Word) Word {
	if w == nil || len(w.Parts) == 0 {
		return Word{}
	}
	var b wordReader
	b.known = -1
	for _, p := range w.Parts {
		b.part(p, false)
	}
	b.shape()
	out := Word{
		Pos: r.at(w.Pos()), End: r.end(w.End()), Raw: r.source(w),
		Text: b.text.String(), Why: b.why, Many: b.many,
	}
	if b.known >= 0 {
		out.Text = out.Text[:b.known]
	}
	switch {
	case b.split:
		out.dash = true
	case out.Text != "":
		out.dash = out.Text[0] == '-'
	case out.Why != 0:
		// What ~ and <(…) become starts with a slash or stays a tilde.
		out.dash = b.first&(Tilde|Proc) == 0
	}
	return out
}

func (b *wordReader) opaque(why Reason, quoted bool) {
	if b.known < 0 {
		b.known, b.first = b.text.Len(), why
	}
	b.why |= why
	if !quoted && why&(Param|Cmd|Arith) != 0 {
		b.many, b.split = true, true
	}
	b.plain = append(b.plain, 0)
	b.text.WriteByte(0) // keeps text and plain of one length
}

func (b *wordReader) quoted(s string) {
	b.text.WriteString(s)
	b.plain = append(b.plain, make([]byte, len(s))...)
}

func (b *wordReader) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			b.quoted(unescape(p.Value, "$`\"\\\n"))
			return
		}
		for i := 0; i < len(p.Value); i++ {
			c := p.Value[i]
			if c == '\\' && i+1 < len(p.Value) {
				i++
				if p.Value[i] != '\n' {
					b.quoted(p.Value[i : i+1])
				}
				continue
			}
			b.text.WriteByte(c)
			b.plain = append(b.plain, c)
		}
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.quoted(p.Value)
		} else if s, ok := ansiC(p.Value); ok {
			b.quoted(s)
		} else {
			b.opaque(Locale, true)
		}
	case *syntax.DblQuoted:
		if p.Dollar {
			b.opaque(Locale, true)
			return
		}
		for _, q := range p.Parts {
			b.part(q, true)
		}
	case *syntax.ParamExp:
		b.opaque(Param, quoted)
		if quoted && manyParam(p) {
			b.many = true
			b.split = true // "$@" may be several words, each with a dash
		}
	case *syntax.CmdSubst:
		b.opaque(Cmd, quoted)
	case *syntax.ArithmExp:
		b.opaque(Arith, quoted)
	case *syntax.ProcSubst:
		b.opaque(Proc, true)
		b.many = b.many || len(p.Stmts) == 0 // bash drops <() as it drops an empty $x
	case *syntax.ExtGlob:
		b.opaque(ExtGlob, true)
		b.many = true
	default:
		b.opaque(Param, false)
	}
}

// manyParam reports whether p is several words even between double quotes:
// "$@", "${a[@]}", "${!prefix@}".
func manyParam(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Param.Value == "@" || p.Names != 0 {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// shape finds braces, globs and tildes in the unquoted text. It takes more for
// an expansion than bash does ("{a,b..}"), never less.
func (b *wordReader) shape() {
	p := string(b.plain)
	mark := func(why Reason, at int) {
		if b.known < 0 || at < b.known {
			b.known, b.first = at, why
		}
		b.why |= why
	}
	if open := strings.IndexByte(p, '{'); open >= 0 {
		rest := p[open:]
		sep := strings.IndexByte(rest, ',')
		if dots := strings.Index(rest, ".."); sep < 0 || dots >= 0 && dots < sep {
			sep = dots
		}
		if sep >= 0 && strings.IndexByte(rest[sep:], '}') >= 0 {
			mark(Brace, open)
			b.many = true
		}
	}
	if p != "[" {
		if i := strings.IndexAny(p, "*?["); i >= 0 {
			mark(Glob, i)
			b.many = true
		}
	}
	if strings.HasPrefix(p, "~") {
		mark(Tilde, 0)
	}
	if eq := strings.IndexByte(p, '='); eq > 0 && syntax.ValidName(strings.TrimSuffix(p[:eq], "+")) {
		for i := eq + 1; i < len(p); i++ {
			if p[i] == '~' && (p[i-1] == '=' || p[i-1] == ':') {
				mark(Tilde, i)
				break
			}
		}
	}
}

// unescape removes the backslashes that precede one of set, and with a newline
// both.
func unescape(s, set string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(set, s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC decodes what stands between $' and '. It gives up on what depends on
// the locale or on the version of bash: \u and \U beyond ASCII, \x{…}, \c.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	number := func(i, most, base int) (n, width int) {
		for width < most && i+width < len(s) {
			d := digit(s[i+width])
			if d < 0 || d >= base {
				break
			}
			n, width = n*base+d, width+1
		}
		return n, width
	}
	const simple, means = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n, width := 0, 0
		switch c := s[i]; {
		case strings.IndexByte(simple, c) >= 0:
			b.WriteByte(means[strings.IndexByte(simple, c)])
			continue
		case c >= '0' && c <= '7':
			n, width = number(i, 3, 8)
			i += width - 1
		case c == 'x' || c == 'u' || c == 'U':
			n, width = number(i+1, map[byte]int{'x': 2, 'u': 4, 'U': 8}[c], 16)
			if width == 0 && strings.HasPrefix(s[i+1:], "{") || c != 'x' && n >= utf8.RuneSelf {
				return "", false
			}
			if width == 0 {
				b.WriteByte('\\')
				b.WriteByte(c)
				continue
			}
			i += width
		case c == 'c':
			return "", false
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
			continue
		}
		if n &= 0xff; n == 0 {
			return b.String(), true // a NUL ends the string, as in C
		}
		b.WriteByte(byte(n))
	}
	return b.String(), true
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
