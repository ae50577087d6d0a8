package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLine is how many characters of a line are shown when a file is read.
const maxLine = 2_000

// A page is a part of a text as the model sees it.
type page struct {
	body        string
	first, last int // lines; 0 if the text is empty
	total       int // lines of the whole text
	cut         []cutLine
	next        int // line to continue with, 0 at the end
}

// page returns the lines of the text from in.Offset on, or a part of the one line
// if in.Column is given, in at most limit characters (at least 4,000).
//
// Following what a page says of how to continue reaches every character of the
// text once: next covers the lines after the page, cut the rest of lines within.
func (d document) page(in readInput, limit int) (p page, err error) {
	offset := max(in.Offset, 1)
	p.total = countLines(d.text)
	switch {
	case p.total == 0 && offset == 1:
		p.body = "(the file is empty)"
		return p, nil
	case p.total == 0:
		return p, fmt.Errorf("offset %d is past the end: the file is empty", offset)
	case offset > p.total:
		return p, fmt.Errorf("offset %d is past the end: the file has %s", offset, plural(p.total, "line"))
	}
	rest := skipLines(d.text, offset-1)
	p.first = offset
	room := limit - 100 // for what stands at the end
	if in.Column > 0 {
		line, _, _ := cutLineEnd(rest)
		return p, p.within(line, in.Column, room)
	}
	var b strings.Builder
	for n := offset; rest != ""; n++ {
		if in.Limit > 0 && n >= offset+in.Limit {
			p.next = n
			break
		}
		line, _, after := cutLineEnd(rest)
		shown, left := clip(line, maxLine)
		text := fmt.Sprintf("%6d\t%s", n, shown)
		if left > 0 {
			text += fmt.Sprintf(" ... (%d more characters; continue with offset=%d column=%d)", left, n, maxLine+1)
		}
		if room -= utf8.RuneCountInString(text) + 1; room < 0 {
			p.next = n
			break
		}
		if left > 0 {
			p.cut = append(p.cut, cutLine{Line: n, Column: maxLine + 1, Rest: left})
		}
		if n > offset {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		p.last, rest = n, after
	}
	if p.next > 0 {
		fmt.Fprintf(&b, "\n... (%s); continue with offset=%d", plural(p.total-p.last, "more line"), p.next)
	}
	p.body = b.String()
	return p, nil
}

// within makes p a part of one line.
func (p *page) within(line string, column, room int) error {
	from := runeIndex(line, column-1)
	if from == len(line) {
		return fmt.Errorf("column %d is past the end: line %d has %s", column, p.first, plural(utf8.RuneCountInString(line), "character"))
	}
	shown, left := clip(line[from:], room-10)
	p.last = p.first
	p.body = fmt.Sprintf("%6d\t%s", p.first, shown)
	if left > 0 {
		next := column + utf8.RuneCountInString(shown)
		p.cut = []cutLine{{Line: p.first, Column: next, Rest: left}}
		p.body += fmt.Sprintf("\n... (%s); continue with offset=%d column=%d", plural(left, "more character"), p.first, next)
	} else {
		p.body += fmt.Sprintf("\n(end of line %d of %d)", p.first, p.total)
	}
	return nil
}

// countLines returns the number of lines; a line end at the end starts none.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func skipLines(text string, n int) string {
	for ; n > 0; n-- {
		_, _, text = cutLineEnd(text)
	}
	return text
}

// cutLineEnd splits text after its first line: the line, its end ("\n", "\r\n" or
// nothing), and the rest.
func cutLineEnd(text string) (line, end, rest string) {
	i := strings.IndexByte(text, '\n')
	switch {
	case i < 0:
		return text, "", ""
	case i > 0 && text[i-1] == '\r':
		return text[:i-1], text[i-1 : i+1], text[i+1:]
	}
	return text[:i], text[i : i+1], text[i+1:]
}

// clip returns the first n characters of s and how many are left.
func clip(s string, n int) (string, int) {
	if len(s) <= n {
		return s, 0
	}
	i := runeIndex(s, n)
	return s[:i], utf8.RuneCountInString(s[i:])
}

// runeIndex returns where character n of s (from 0) starts, or len(s).
func runeIndex(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}

// plural returns "1 line" or "2 lines".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
