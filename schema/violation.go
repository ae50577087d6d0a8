package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of what a refusal may cost its reader.
const (
	MaxViolations     = 50      // entries, without the final note
	MaxViolationBytes = 8 << 10 // text of all entries together, about

	maxPath    = 512  // bytes of one path; longer ones end in "…"
	maxShown   = 120  // bytes of one shown value
	maxAllowed = 1536 // bytes of one list of allowed values
)

// A Violation is one way in which a value fails its schema.
type Violation struct {
	// Path is a JSON Pointer (RFC 6901) into the value, "" for the value itself.
	// A missing or an unknown field is named at its own path. Paths beyond 512
	// bytes are cut and end in "…".
	Path string `json:"path"`
	// Keyword is the schema keyword that failed, such as "type"; "more" is the
	// note at the end of a cut list, "limit" a value that costs too much to check.
	Keyword string `json:"keyword"`
	// Message is one sentence: what is wrong and what was expected.
	Message string `json:"message"`
	// Expected and Got describe both sides where the keyword has two. Numbers
	// are the literal text of schema and value; long values are cut.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// Allowed lists what is accepted in this place: names as they are, values as
	// JSON. Closest is the entry that was most likely meant, if one is near.
	Allowed []string `json:"allowed,omitempty"`
	Closest string   `json:"closest,omitempty"`
}

// String is one line for a model: where, what, what was expected, what is near.
func (v Violation) String() string {
	if v.Keyword == "more" {
		return v.Message
	}
	at := "(root)"
	if v.Path != "" {
		at = oneLine(v.Path)
	}
	s := at + ": " + v.Message
	if v.Closest != "" {
		s += "; did you mean " + oneLine(v.Closest) + "?"
	}
	return s
}

// Violations is what [Schema.Validate] found, ordered by path. At most
// [MaxViolations] entries are kept; a last entry of keyword "more" then says how
// many were left out.
type Violations []Violation

// String joins the violations, one a line.
func (vs Violations) String() string {
	lines := make([]string, len(vs))
	for i, v := range vs {
		lines[i] = v.String()
	}
	return strings.Join(lines, "\n")
}

var escapeToken = strings.NewReplacer("~", "~0", "/", "~1") // RFC 6901

// pointer writes tokens as a JSON Pointer.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken.Replace(t))
	}
	return b.String()
}

// clip cuts s to about n bytes, between runes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// oneLine escapes what would break a line or a terminal.
func oneLine(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// quote writes a name as JSON text would show it, cut.
func quote(s string) string {
	return show(s)
}
