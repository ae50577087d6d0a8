package workspace

import "strings"

// pattern is one line of a .gitignore, compiled. It follows gitignore(5) and git's wildmatch; where the manual is silent
// git decides, and a test asks it.
type pattern struct {
	negate  bool
	dirOnly bool
	base    bool   // no slash inside: compared with the last component at any depth
	literal string // the whole pattern, if it has no special character
	tokens  []token
	fold    bool
}

type token struct {
	kind tokenKind
	c    byte       // lit
	set  *[256]bool // class
}

type tokenKind byte

const (
	lit      tokenKind = iota
	anyOne             // ?   one byte, not a slash
	class              // [ ] one byte, not a slash
	star               // *   any number of bytes, no slash
	starStar           // **  any number of bytes
	anyDirs            // **/ nothing, or anything that ends in a slash
)

// parsePattern compiles a line without its line end. ok is false for a blank line, a comment and what can match nothing.
func parsePattern(line string, fold bool) (p pattern, ok bool) {
	line = trimBlanks(line)
	if line == "" || line[0] == '#' {
		return p, false
	}
	p.fold = fold
	if fold {
		line = lowerASCII(line)
	}
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dirOnly, line = true, line[:len(line)-1]
	}
	p.base = !strings.Contains(line, "/")
	if !p.base {
		line = strings.TrimPrefix(line, "/")
	}
	if line == "" {
		return p, false
	}
	special := strings.IndexAny(line, `*?[\`)
	if special < 0 {
		p.literal = line
		return p, true
	}
	p.tokens, ok = compile(line, special, p.base)
	return p, ok
}

// trimBlanks removes trailing blanks, except one that a backslash protects.
func trimBlanks(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i = min(i+1, len(s)-1)
		}
		end = i + 1
	}
	return s[:end]
}

// compile turns a pattern into tokens. start is its first special character: git compares what comes before as plain text
// and matches the rest on its own, so a "**" there counts as one at the beginning of a component.
func compile(s string, start int, base bool) (tokens []token, ok bool) {
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				return nil, false
			}
			tokens = append(tokens, token{kind: lit, c: s[i]})
			i++
		case '?':
			tokens = append(tokens, token{kind: anyOne})
			i++
		case '[':
			set, n := parseClass(s[i:])
			if n == 0 {
				return nil, false
			}
			tokens = append(tokens, token{kind: class, set: set})
			i += n
		case '*':
			first := i
			for i < len(s) && s[i] == '*' {
				i++
			}
			rest := s[i:]
			bounded := (first == start || s[first-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
			switch {
			case i-first == 1 || !base && !bounded:
				tokens = append(tokens, token{kind: star})
			case strings.HasPrefix(rest, "/"):
				tokens = append(tokens, token{kind: anyDirs})
				i++
			default:
				tokens = append(tokens, token{kind: starStar})
			}
		default:
			tokens = append(tokens, token{kind: lit, c: c})
			i++
		}
	}
	return tokens, true
}

// parseClass reads a bracket expression at the start of s and returns its set and length, 0 if it is not closed.
func parseClass(s string) (*[256]bool, int) {
	var set [256]bool
	i := 1
	negate := false
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		negate = true
		i++
	}
	prev := -1 // the byte before, which a range may start at
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0
		}
		c := s[i]
		switch {
		case c == ']' && !first:
			if negate {
				for b := range set {
					set[b] = !set[b]
				}
			}
			set['/'] = false
			return &set, i + 1
		case c == '-' && prev >= 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				if i++; i >= len(s) {
					return nil, 0
				}
			}
			for b := prev; b <= int(s[i]); b++ {
				set[b] = true
			}
			prev = -1
			i++
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return nil, 0
			}
			name, closed := strings.CutSuffix(s[i+2:i+2+end], ":")
			if !closed { // "[:" without ":]" is a plain bracket
				set['['] = true
				prev = '['
				i++
				continue
			}
			in := charClass(name)
			if in == nil {
				return nil, 0
			}
			for b := range set {
				set[b] = set[b] || in(byte(b))
			}
			prev = -1
			i += 2 + end + 1
		default:
			if c == '\\' {
				if i++; i >= len(s) {
					return nil, 0
				}
				c = s[i]
			}
			set[c] = true
			prev = int(c)
			i++
		}
	}
}

// charClass gives the POSIX classes of the C locale.
func charClass(name string) func(byte) bool {
	in := func(lo, hi byte) func(byte) bool { return func(c byte) bool { return lo <= c && c <= hi } }
	digit, upper, lower := in('0', '9'), in('A', 'Z'), in('a', 'z')
	alpha := func(c byte) bool { return upper(c) || lower(c) }
	graph := in('!', '~')
	switch name {
	case "alnum":
		return func(c byte) bool { return alpha(c) || digit(c) }
	case "alpha":
		return alpha
	case "blank":
		return func(c byte) bool { return c == ' ' || c == '\t' }
	case "cntrl":
		return func(c byte) bool { return c < ' ' || c == 0x7f }
	case "digit":
		return digit
	case "graph":
		return graph
	case "lower":
		return lower
	case "print":
		return in(' ', '~')
	case "punct":
		return func(c byte) bool { return graph(c) && !alpha(c) && !digit(c) }
	case "space":
		return func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
	case "upper":
		return upper
	case "xdigit":
		return func(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
	}
	return nil
}

// match compares the pattern with a path relative to the directory of its file.
func (p *pattern) match(rel string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.base {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	if p.fold {
		rel = lowerASCII(rel)
	}
	if p.tokens == nil {
		return rel == p.literal
	}
	return run(p.tokens, rel)
}

// run walks all positions in the pattern that the text so far can have led to, so the time is at most their product and no
// pattern is exponential.
func run(tokens []token, text string) bool {
	n := len(tokens)
	now, next := make([]bool, n+1), make([]bool, n+1)
	enter(tokens, now, 0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		clear(next)
		alive := false
		for at, on := range now[:n] {
			if !on {
				continue
			}
			alive = true
			switch t := tokens[at]; t.kind {
			case lit:
				if c == t.c {
					enter(tokens, next, at+1)
				}
			case anyOne:
				if c != '/' {
					enter(tokens, next, at+1)
				}
			case class:
				if t.set[c] {
					enter(tokens, next, at+1)
				}
			case star:
				if c != '/' {
					enter(tokens, next, at)
				}
			case starStar:
				enter(tokens, next, at)
			case anyDirs:
				next[at] = true // still inside a component: only a slash leads on
				if c == '/' {
					enter(tokens, next, at+1)
				}
			}
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	return now[n]
}

// enter marks a position and those that are reached from it without a byte.
func enter(tokens []token, set []bool, at int) {
	for ; ; at++ {
		set[at] = true
		if at == len(tokens) {
			return
		}
		if k := tokens[at].kind; k != star && k != starStar && k != anyDirs {
			return
		}
	}
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
