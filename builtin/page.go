package builtin

import (
	"bufio"
	"fmt"
	"io"
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
	next        int  // line to continue with, 0 at the end
	open        bool // the last line of the text has no line end
}

// paginate returns the lines of a text from in.Offset on, or a part of the one
// line if in.Column is given, in at most limit characters (at least 4,000). It
// holds no more of the text than that.
//
// Following what a page says of how to continue reaches every character of the
// text once: next covers the lines after the page, cut the rest of lines within.
func paginate(text io.Reader, in readInput, limit int) (p page, err error) {
	r := &lineReader{b: bufio.NewReaderSize(text, 64<<10)}
	offset := max(in.Offset, 1)
	if err := r.skip(offset - 1); err != nil {
		return p, err
	}
	room := limit - 100 // for what stands at the end
	var body []string
	for n := offset; ; n++ {
		from, keep := 0, maxLine
		if in.Column > 0 {
			from, keep = in.Column-1, room-10
		}
		if n > offset && (in.Column > 0 || in.Limit > 0 && n == offset+in.Limit) {
			p.next = n
			break
		}
		line, ok, err := r.line(from, keep)
		if err != nil {
			return p, err
		}
		if !ok {
			break
		}
		if p.first == 0 {
			p.first = n
		}
		if in.Column > 0 && line.text == "" {
			return p, fmt.Errorf("column %d is past the end: line %d has %s", in.Column, n, plural(line.length, "character"))
		}
		shown := fmt.Sprintf("%6d\t%s", n, line.text)
		next := from + keep + 1
		if line.rest > 0 && in.Column == 0 {
			shown += fmt.Sprintf(" ... (%d more characters; continue with offset=%d column=%d)", line.rest, n, next)
		}
		if room -= utf8.RuneCountInString(shown) + 1; room < 0 {
			p.next = n
			break
		}
		if line.rest > 0 {
			p.cut = append(p.cut, cutLine{Line: n, Column: next, Rest: line.rest})
		}
		body, p.last = append(body, shown), n
	}
	if err := r.skip(-1); err != nil {
		return p, err
	}
	p.total, p.open = r.lines, r.open
	return p, p.finish(body, in)
}

// finish puts the page together, with how to go on at its end.
func (p *page) finish(body []string, in readInput) error {
	switch {
	case p.total == 0 && in.Offset <= 1:
		p.body = "(the file is empty)"
		return nil
	case p.total == 0:
		return fmt.Errorf("offset %d is past the end: the file is empty", in.Offset)
	case p.first == 0:
		return fmt.Errorf("offset %d is past the end: the file has %s", in.Offset, plural(p.total, "line"))
	case in.Column > 0 && len(p.cut) > 0:
		c := p.cut[0]
		body = append(body, fmt.Sprintf("... (%s); continue with offset=%d column=%d", plural(c.Rest, "more character"), c.Line, c.Column))
	case in.Column > 0:
		body = append(body, fmt.Sprintf("(end of line %d of %d)", p.first, p.total))
	case p.last < p.total:
		body = append(body, fmt.Sprintf("... (%s); continue with offset=%d", plural(p.total-p.last, "more line"), p.next))
	}
	if in.Column > 0 || p.last == p.total {
		p.next = 0
	}
	p.body = strings.Join(body, "\n")
	return nil
}

// A lineReader reads a text line by line, however long its lines are. A line end
// is LF or CRLF; one at the end of the text starts no line.
type lineReader struct {
	b     *bufio.Reader
	lines int  // read so far
	open  bool // the last line read had no line end
}

// A linePart is a part of a line and what is known of the whole, in characters. A
// byte that is not UTF-8 is a character.
type linePart struct {
	text   string
	length int
	rest   int // after text
}

// line returns the characters of the next line from one on, at most keep of them.
func (r *lineReader) line(from, keep int) (p linePart, ok bool, err error) {
	var text []byte
	for {
		c, size, err := r.b.ReadRune()
		if err == io.EOF {
			if !ok {
				return p, false, nil
			}
			r.open = true
			break
		}
		if err != nil {
			return p, false, err
		}
		ok = true
		if c == '\r' {
			if next, _ := r.b.Peek(1); len(next) == 1 && next[0] == '\n' {
				continue
			}
		}
		if c == '\n' {
			break
		}
		if p.length++; p.length > from+keep {
			p.rest++
		} else if p.length > from {
			if c == utf8.RuneError && size == 1 {
				r.b.UnreadRune()
				b, _ := r.b.ReadByte()
				text = append(text, b)
			} else {
				text = utf8.AppendRune(text, c)
			}
		}
	}
	r.lines++
	p.text = string(text)
	return p, true, nil
}

// skip reads over n lines, or to the end if n is negative.
func (r *lineReader) skip(n int) error {
	inside := false
	for n != 0 {
		part, err := r.b.ReadSlice('\n')
		switch {
		case err == nil:
			r.lines++
			n--
			inside = false
		case err == bufio.ErrBufferFull:
			inside = true
		case err == io.EOF:
			if inside || len(part) > 0 {
				r.lines++
				r.open = true
			}
			return nil
		default:
			return err
		}
	}
	return nil
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
	if strings.HasSuffix(what, "ch") || strings.HasSuffix(what, "ss") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
