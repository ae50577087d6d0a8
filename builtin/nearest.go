package builtin

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var numbered = regexp.MustCompile(`(?m)^ *[0-9]+\t`)

// explain says what the text that was looked for and not found is nearest to, and
// what differs there. It only helps to write the next call: nothing is ever
// replaced because it is similar.
func (e edit) explain(text string) string {
	if text == "" {
		return "the file is empty"
	}
	if bare := numbered.ReplaceAllString(e.old, ""); bare != e.old && bare != "" && strings.Contains(text, bare) {
		return "it is without the line numbers that read_file puts before each line; leave them and the tab out"
	}
	old := strings.Split(strings.TrimSuffix(e.old, "\n"), "\n")
	lines := spansOfLines(text)
	have := make([]string, len(lines))
	for i, l := range lines {
		have[i] = text[l.from:l.to]
	}
	s := nearest(old, have)
	if at, ok := alreadyThere(text, e.new); ok {
		s += fmt.Sprintf("; new_text is at line %d: was the edit made before?", at)
	}
	return s
}

func alreadyThere(text, new string) (line int, ok bool) {
	if len(strings.TrimSpace(new)) < 8 || strings.Count(text, new) != 1 {
		return 0, false
	}
	return lineAt(text, strings.Index(text, new)), true
}

// nearest describes the lines of have that are most like old.
func nearest(old, have []string) string {
	at, ok := bestPlace(old, have)
	if !ok {
		return "nothing in it is like old_text; read it again"
	}
	for i, want := range old {
		n := at + i
		if n < 0 {
			continue
		}
		if n >= len(have) {
			return fmt.Sprintf("nearest is line %d and what follows, but the file ends at line %d, before %s of old_text", at+1, len(have), quoteLine(want, 0))
		}
		if have[n] == want {
			continue
		}
		if i == 0 && strings.HasSuffix(have[n], want) || i == len(old)-1 && strings.HasPrefix(have[n], want) || len(old) == 1 && strings.Contains(have[n], want) {
			continue // part of the line is enough at either end
		}
		what, pos := difference(have[n], want)
		return fmt.Sprintf("nearest is line %d, which differs in %s: the file has %s, old_text has %s", n+1, what, quoteLine(have[n], pos), quoteLine(want, pos))
	}
	return fmt.Sprintf("nearest is line %d, but the line ends around it differ", at+1)
}

// bestPlace returns the line of have at which old would start, by how many lines
// then agree but for blanks and case; long lines weigh more. If none agrees, the
// line of old that is most like any line decides.
func bestPlace(old, have []string) (at int, ok bool) {
	const most = 50 // equal lines of old that are looked at
	places := make(map[string][]int)
	for j, line := range old {
		if key := squeeze(line); key != "" && len(places[key]) < most {
			places[key] = append(places[key], j)
		}
	}
	votes := make(map[int]int)
	best := 0
	for i, line := range have {
		key := squeeze(line)
		for _, j := range places[key] {
			votes[i-j] += len(key)
			if v := votes[i-j]; v > best {
				best, at, ok = v, i-j, true
			}
		}
	}
	if ok {
		return at, true
	}
	like := 0.4 // less is chance
	for j, line := range old[:min(len(old), 3)] {
		want := pairs(squeeze(line))
		if len(want) == 0 {
			continue
		}
		for i, h := range have[:min(len(have), 20_000)] {
			if s := similarity(want, pairs(squeeze(h))); s > like {
				like, at, ok = s, i-j, true
			}
		}
	}
	return at, ok
}

// squeeze returns s without blanks and in lower case.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// pairs counts the pairs of neighbouring bytes in the beginning of s.
func pairs(s string) map[[2]byte]int {
	m := make(map[[2]byte]int)
	for i := 0; i+1 < min(len(s), 200); i++ {
		m[[2]byte{s[i], s[i+1]}]++
	}
	return m
}

// similarity is the share of pairs that a and b have in common (Dice).
func similarity(a, b map[[2]byte]int) float64 {
	common, all := 0, 0
	for p, n := range a {
		common += min(n, b[p])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(common) / float64(all)
}

// difference says in a word how two lines differ, and at which byte first.
func difference(have, want string) (what string, pos int) {
	for pos < len(have) && pos < len(want) && have[pos] == want[pos] {
		pos++
	}
	for pos > 0 && (pos < len(have) && !utf8.RuneStart(have[pos]) || pos < len(want) && !utf8.RuneStart(want[pos])) {
		pos--
	}
	a, b := strings.TrimLeft(have, " \t"), strings.TrimLeft(want, " \t")
	switch {
	case strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t") && a != have || a == b:
		return fmt.Sprintf("indentation (%s in the file, %s in old_text)", blanks(have[:len(have)-len(a)]), blanks(want[:len(want)-len(b)])), pos
	case strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t"):
		return "trailing blanks", pos
	case strings.EqualFold(have, want):
		return "upper and lower case", pos
	case squeeze(have) == squeeze(want):
		return "blanks", pos
	}
	return fmt.Sprintf("its text from character %d on", utf8.RuneCountInString(want[:pos])+1), pos
}

// blanks describes an indentation: "2 tabs", "4 spaces".
func blanks(s string) string {
	tabs := strings.Count(s, "\t")
	switch {
	case s == "":
		return "none"
	case tabs == len(s):
		return plural(tabs, "tab")
	case tabs == 0:
		return plural(len(s), "space")
	}
	return strconv.Quote(s)
}

// quoteLine quotes s, of a long line only the part around byte pos.
func quoteLine(s string, pos int) string {
	const before, most = 40, 120
	if len(s) <= most {
		return strconv.Quote(s)
	}
	from := max(min(pos, len(s))-before, 0)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	part, left := clip(s[from:], most)
	out := strconv.Quote(part)
	if from > 0 {
		out = "…" + out
	}
	if left > 0 {
		out += "…"
	}
	return out
}
