package builtin

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// An edit replaces one text by another. How it finds the place is a pure function
// of the two texts and the file.
//
// Line ends do not count where the file has CRLF: a model was shown none. There,
// LF and CRLF in old match either, and a line end of new becomes what the place
// has. Elsewhere every character counts, and new is inserted as it is.
type edit struct {
	old, new string
	all      bool // replace every match instead of the only one
}

// A change is a text after an edit.
type change struct {
	text  string
	spots []span // where new stands in text
	// ignored says what was ignored to find the place, "" for an exact match.
	ignored string
}

// A span is a part of a text, in bytes.
type span struct{ from, to int }

// Errors of an edit that changes nothing, whatever the file holds.
var (
	errEmptyOld = errors.New("old_text is empty, so it names no place; give the text to replace, or use write_file to write the whole file")
	errSameText = errors.New("old_text and new_text are the same, so there is nothing to change")
	errNoChange = errors.New("the file already reads like new_text at that place, so there is nothing to change")
)

// maxSpots is how many places of an ambiguous text are named.
const maxSpots = 20

// apply returns text with the edit made, or an error for the model that says why
// it was not.
func (e edit) apply(text string) (change, error) {
	switch {
	case e.old == "":
		return change{}, errEmptyOld
	case e.old == e.new:
		return change{}, errSameText
	}
	t := unixText(text)
	if t.crlf != nil {
		e.old, e.new = toLF(e.old), toLF(e.new)
		if e.old == e.new {
			return change{}, errors.New("old_text and new_text differ only in line ends, which edit_file keeps as they are in the file")
		}
	}
	spots := e.find(t.text)
	ignored := ""
	if len(spots) == 0 && t.crlf == nil && strings.Contains(e.old, "\r\n") {
		e.old, e.new = toLF(e.old), toLF(e.new)
		spots, ignored = e.find(t.text), "that old_text has CRLF where the file has LF; line ends of new_text were written as LF"
	}
	if len(spots) == 0 {
		spots, ignored = e.findLines(t.text), "trailing blanks and the style of quotation marks"
		if len(spots) > 1 { // replace_all is for exact matches
			return change{}, fmt.Errorf("old_text is not in the file as it is; without trailing blanks and the style of quotation marks it is at lines %s; copy the one you mean exactly, with more lines around it", t.lines(spots))
		}
	}
	switch {
	case len(spots) == 0:
		return change{}, errors.New("old_text is not in the file; " + e.explain(t.text))
	case len(spots) > 1 && !e.all:
		more := ""
		if len(spots) > maxSpots {
			spots, more = spots[:maxSpots], " and more"
		}
		return change{}, fmt.Errorf("old_text is in the file more than once, at lines %s%s; add lines around it until it is the only one, or set replace_all", t.lines(spots), more)
	}
	c := t.replace(spots, e.new)
	c.ignored = ignored
	if c.text == text {
		return change{}, errNoChange
	}
	return c, nil
}

// find returns the places of old in text. Without all, places that overlap count
// too ("aa" is twice in "aaa"), up to one more than can be named.
func (e edit) find(text string) (spots []span) {
	step := 1
	if e.all {
		step = len(e.old)
	}
	for at := 0; e.all || len(spots) <= maxSpots; {
		i := strings.Index(text[at:], e.old)
		if i < 0 {
			break
		}
		spots = append(spots, span{at + i, at + i + len(e.old)})
		at += i + step
	}
	return spots
}

// findLines returns the places where whole lines of text are those of old,
// trailing blanks and the style of quotation marks aside, up to maxSpots.
func (e edit) findLines(text string) (spots []span) {
	want := strings.Split(e.old, "\n")
	closed := len(want) > 1 && want[len(want)-1] == "" // old ends with a line end
	if closed {
		want = want[:len(want)-1]
	}
	blank := true
	for i := range want {
		want[i] = plainLine(want[i])
		blank = blank && want[i] == ""
	}
	if blank {
		return nil
	}
	lines := spansOfLines(text)
	have := make([]string, len(lines))
	for i, l := range lines {
		have[i] = plainLine(text[l.from:l.to])
	}
	for i := 0; i+len(want) <= len(lines) && len(spots) < maxSpots; i++ {
		if !slices.Equal(have[i:i+len(want)], want) {
			continue
		}
		s := span{lines[i].from, lines[i+len(want)-1].to}
		if closed && s.to < len(text) {
			s.to++
		}
		spots = append(spots, s)
	}
	return spots
}

var plainQuotes = strings.NewReplacer("‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "‟", `"`)

func plainLine(s string) string { return plainQuotes.Replace(strings.TrimRight(s, " \t\r")) }

// spansOfLines returns the lines of text without their ends.
func spansOfLines(text string) (lines []span) {
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return append(lines, span{at, len(text)})
		}
		lines = append(lines, span{at, at + i})
		at += i + 1
	}
	return lines
}

// A lfText is a text with LF alone, and what is needed to find a place of it in
// the text as it was.
type lfText struct {
	text string
	orig string
	crlf []int // places in text of those line ends that were CRLF
}

func unixText(orig string) lfText {
	t := lfText{text: orig, orig: orig}
	if !strings.Contains(orig, "\r\n") {
		return t
	}
	var b strings.Builder
	b.Grow(len(orig))
	for rest := orig; ; {
		i := strings.Index(rest, "\r\n")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		t.crlf = append(t.crlf, b.Len())
		b.WriteByte('\n')
		rest = rest[i+2:]
	}
	t.text = b.String()
	return t
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// at returns the place in the original of place i.
func (t lfText) at(i int) int { return i + sort.SearchInts(t.crlf, i) }

// replace puts text at the places, which are in order and do not overlap. All
// bytes outside them are those of the original.
func (t lfText) replace(spots []span, text string) (c change) {
	var b strings.Builder
	last := 0
	for _, s := range spots {
		b.WriteString(t.orig[last:t.at(s.from)])
		start := b.Len()
		if t.crlf != nil && t.endsInCRLF(s) {
			b.WriteString(strings.ReplaceAll(text, "\n", "\r\n"))
		} else {
			b.WriteString(text)
		}
		c.spots = append(c.spots, span{start, b.Len()})
		last = t.at(s.to)
	}
	b.WriteString(t.orig[last:])
	c.text = b.String()
	return c
}

// endsInCRLF reports whether lines at s end in CRLF: by the line ends within it,
// else by the next one, else by the one before.
func (t lfText) endsInCRLF(s span) bool {
	if strings.IndexByte(t.text[s.from:s.to], '\n') >= 0 {
		i := sort.SearchInts(t.crlf, s.from)
		return i < len(t.crlf) && t.crlf[i] < s.to
	}
	i := strings.IndexByte(t.text[s.to:], '\n')
	if i >= 0 {
		i += s.to
	} else if i = strings.LastIndexByte(t.text[:s.from], '\n'); i < 0 {
		return false
	}
	_, crlf := slices.BinarySearch(t.crlf, i)
	return crlf
}

// lines names the lines where the places start: "3, 17".
func (t lfText) lines(spots []span) string {
	var out []string
	for _, s := range spots {
		out = append(out, fmt.Sprint(lineAt(t.text, s.from)))
	}
	return strings.Join(out, ", ")
}

// lineAt returns the number of the line that holds byte i of text.
func lineAt(text string, i int) int { return strings.Count(text[:i], "\n") + 1 }
