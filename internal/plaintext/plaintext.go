// Package plaintext makes text that came from outside fit to be stored, shown
// and sent to a model: valid UTF-8 without terminal escapes, NUL or other control
// characters, and cut at the borders of lines and characters.
package plaintext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cleaned tells what Clean took away.
type Cleaned struct {
	Invalid int // bytes that were not UTF-8, each replaced by U+FFFD
	Control int // control characters and terminal escape sequences, removed
	Hidden  int // characters that nobody sees and a model reads (tags), removed
}

// String returns a sentence for the reader of the text, or "" if nothing was
// taken away.
func (c Cleaned) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.Invalid, "bytes that are not UTF-8 replaced"},
		{c.Control, "control characters or terminal escapes removed"},
		{c.Hidden, "invisible characters removed"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Clean returns s without what cannot be sent. Tab, line feed and carriage return
// stay. If hidden is set, characters that are invisible but readable to a model
// go too: the tag block, except in the flag emoji that it is for, and runs of
// invisible operators and variation selectors longer than any real text has.
func Clean(s string, hidden bool) (string, Cleaned) {
	var c Cleaned
	if plain(s) {
		return s, c
	}
	var b strings.Builder
	b.Grow(len(s))
	flag := false  // within the tags of a flag emoji
	selectors := 0 // variation selectors in a row
	unclosed := 0  // no control string that starts before here is closed
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			c.Invalid++
			b.WriteRune(utf8.RuneError)
			i++
			continue
		}
		if r == 0x1b || r == 0x9b {
			c.Control++
			if n, end := escape(s[i:], n, i < unclosed); end > 0 {
				i, unclosed = i+n, i+end
			} else {
				i += n
			}
			continue
		}
		if isControl(r) {
			c.Control++
			i += n
			continue
		}
		if hidden {
			drop := false
			switch {
			case isTag(r):
				drop = !flag
				flag = flag && r != 0xe007f
			case r == 0x1f3f4: // the flag whose tags name a region
				flag, selectors = isFlag(s[i+n:]), 0
			case r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef:
				selectors++
				drop = selectors > 1
			case r >= 0x2061 && r <= 0x2064 || r == 0x180e || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0:
				drop = true
			default:
				flag, selectors = false, 0
			}
			if drop {
				c.Hidden++
				i += n
				continue
			}
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String(), c
}

// plain reports whether s is printable ASCII with tabs and line ends, as nearly
// all text is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0
}

func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// isFlag reports whether s goes on with the tags of a flag emoji: two to six
// letters or digits and the cancel tag (UTS #51, emoji tag sequences).
func isFlag(s string) bool {
	n := 0
	for _, r := range s {
		switch {
		case r == 0xe007f:
			return n >= 2
		case r >= 0xe0030 && r <= 0xe0039 || r >= 0xe0061 && r <= 0xe007a:
			n++
		default:
			return false
		}
		if n > 6 {
			return false
		}
	}
	return false
}

// escape returns the length of the escape sequence (ECMA-48) at the start of s,
// whose introducer has n bytes. If it introduces a control string that is not
// closed on its line, unclosed is how far was looked: no other one that starts
// before is closed either, which known tells the next call, so that a text of
// nothing but introducers is not read once for each.
func escape(s string, n int, known bool) (length, unclosed int) {
	i := n
	csi := s[0] != 0x1b
	if !csi {
		if i >= len(s) {
			return i, 0
		}
		switch c := s[i]; {
		case c == '[':
			csi = true
			i++
		case c == ']' || c == 'P' || c == '^' || c == '_' || c == 'X': // a string, up to ST or BEL
			if known {
				return i + 1, 0
			}
			j := i + 1
			for ; j < len(s) && s[j] != '\n'; j++ {
				if s[j] == 0x07 {
					return j + 1, 0
				}
				if s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\' {
					return j + 2, 0
				}
			}
			return i + 1, j // never closed: only the introducer goes
		case c >= 0x20 && c < 0x30: // intermediate bytes, then a final one
			for i < len(s) && s[i] >= 0x20 && s[i] < 0x30 {
				i++
			}
			if i < len(s) && s[i] >= 0x30 && s[i] < 0x7f {
				i++
			}
			return i, 0
		case c >= 0x30 && c < 0x7f:
			return i + 1, 0
		default:
			return i, 0
		}
	}
	for i < len(s) && s[i] >= 0x20 && s[i] < 0x40 {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] < 0x7f {
		i++
	}
	return i, 0
}

// Cut shortens s to at most limit characters, with the first fifth and the end
// of it kept and a line between them that says how much is missing: the end of
// an output is where the error stands. The pieces end at line borders where
// there are any nearby, and never within a character. The mark comes on top of
// limit. cut is false if s fits.
func Cut(s string, limit int) (short string, cut bool) {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s, false
	}
	head := prefix(s, limit/5)
	tail := suffix(s[len(head):], limit-utf8.RuneCountInString(head))
	left := s[len(head) : len(s)-len(tail)]
	mark := fmt.Sprintf("[... %d characters (%d lines) left out ...]", utf8.RuneCountInString(left), strings.Count(left, "\n"))
	if head != "" && !strings.HasSuffix(head, "\n") {
		mark = "\n" + mark
	}
	return head + mark + "\n" + tail, true
}

// prefix returns the first n characters of s, fewer if a line ends in their
// second half.
func prefix(s string, n int) string {
	i := 0
	for range n {
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	if nl := strings.LastIndexByte(s[:i], '\n'); nl >= i/2 {
		return s[:nl+1]
	}
	return s[:i]
}

// suffix returns the last n characters of s, fewer if a line starts in their
// first half.
func suffix(s string, n int) string {
	i := len(s)
	for range n {
		_, w := utf8.DecodeLastRuneInString(s[:i])
		i -= w
	}
	if i == 0 || i == len(s) {
		return s[i:]
	}
	if nl := strings.IndexByte(s[i:], '\n'); nl >= 0 && nl < (len(s)-i)/2 {
		return s[i+nl+1:]
	}
	return s[i:]
}
