package shell

import (
	"errors"
	"strings"
)

var errTooMuch = errors.New("too much syntax for one line")

// flags are options of a command, as getopt writes them. In short, a colon
// after a letter is an argument, a question mark one that is attached or
// absent, and # stands for any number (head -5). In long, = and ? say the same;
// a single dash before the name is one of find's.
type flags struct{ short, long string }

// read reads the option that is words[i]: the flags in it, the argument of the
// last, and the index after it. Not found: one of them is not in the table. Long
// names must be written whole.
func (f flags) read(words []Word, i int) (names []string, arg Word, next int, found bool) {
	text := words[i].Text
	take := func() bool {
		if i+1 >= len(words) || words[i+1].Many {
			return false
		}
		arg, next = words[i+1], i+2
		return true
	}
	next = i + 1
	if long, ok := strings.CutPrefix(text, "--"); ok {
		name, value, has := strings.Cut(long, "=")
		arg = words[i]
		arg.Text = value
		for known := range strings.FieldsSeq(f.long) {
			switch {
			case known == name && !has:
				return []string{name}, Word{}, next, true
			case known == name+"=" && has, known == name+"?" && has:
				return []string{name}, arg, next, true
			case known == name+"?":
				return []string{name}, Word{}, next, true
			case known == name+"=":
				return []string{name}, arg, i + 2, take()
			}
		}
		return nil, Word{}, next, false
	}
	if strings.Contains(f.short, "#") && number.MatchString(text[1:]) {
		return []string{"#"}, Word{}, next, true
	}
	for j := 1; j < len(text); j++ {
		at := strings.IndexByte(f.short, text[j])
		if at < 0 || strings.IndexByte(":?#", text[j]) >= 0 {
			return nil, Word{}, next, false
		}
		names = append(names, text[j:j+1])
		kind := byte(0)
		if at+1 < len(f.short) {
			kind = f.short[at+1]
		}
		if kind == '?' || kind == ':' && j+1 < len(text) {
			arg = words[i]
			arg.Text = text[j+1:]
			return names, arg, next, true
		}
		if kind == ':' {
			ok := take()
			return names, arg, next, ok
		}
	}
	return names, arg, next, true
}
