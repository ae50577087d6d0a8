package plaintext

import (
	"strings"
	"unicode"
)

// Clip returns the first n characters of s, and a mark if there are more.
func Clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// Visible returns untrusted text fit for one line of a terminal: what would move
// the cursor, change colours or turn the direction of writing is shown as U+FFFD.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
