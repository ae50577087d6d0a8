package builtin

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/workspace"
)

// A matcher finds the lines of a text that a regular expression matches.
type matcher struct {
	re *regexp.Regexp
	// whole says that re may be given many lines at once: it never matches
	// over a line end, and has no \A or \z, which mean the ends of a line.
	whole bool
}

// newMatcher compiles pattern so that it means on many lines what it means on
// each. No line holds a line end, so what could match one is taken out; else a
// match could start on every line and reach to the end of the file, each time.
func newMatcher(pattern string) (m matcher, err error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return m, badRegexp(pattern, err)
	}
	tree, err := syntax.Parse("(?m:"+pattern+")", syntax.Perl)
	if err != nil {
		return m, badRegexp(pattern, err)
	}
	withoutLineEnds(tree)
	if m.re, err = regexp.Compile(tree.String()); err != nil {
		return m, badRegexp(pattern, err)
	}
	m.whole = !textEnds(tree)
	return m, nil
}

func textEnds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, textEnds)
}

func withoutLineEnds(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			re.Op, re.Rune = syntax.OpNoMatch, nil
		}
	case syntax.OpCharClass:
		var ranges []rune
		for i := 0; i < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			if lo > '\n' || hi < '\n' {
				ranges = append(ranges, lo, hi)
				continue
			}
			if lo < '\n' {
				ranges = append(ranges, lo, '\n'-1)
			}
			if hi > '\n' {
				ranges = append(ranges, '\n'+1, hi)
			}
		}
		if re.Rune = ranges; len(ranges) == 0 {
			re.Op = syntax.OpNoMatch
		}
	}
	for _, sub := range re.Sub {
		withoutLineEnds(sub)
	}
}

// block is how much text is searched between two looks at the context.
const block = 1 << 20

// next returns the first line of text at or after place from that matches: its
// span, and the match in it. from is the start of a line. It finds nothing more
// when ctx ends.
func (m matcher) next(ctx context.Context, text string, from int) (line, match span, ok bool) {
	last := len(strings.TrimSuffix(text, "\n")) // the end of the last line
	for from < len(text) && ctx.Err() == nil {
		end := lineEnd(text, from)
		if m.whole {
			end = lineEnd(text, min(from+block, last))
		}
		loc := m.re.FindStringIndex(text[from:end])
		if loc == nil {
			from = end + 1
			continue
		}
		at := from + loc[0]
		line = span{strings.LastIndexByte(text[:at], '\n') + 1, lineEnd(text, at)}
		return line, span{at - line.from, from + loc[1] - line.from}, true
	}
	return line, match, false
}

// lineEnd returns where the line that holds byte i ends.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// A scanner looks through one file at a time. It has no state.
type scanner struct {
	matcher matcher
	context int // lines around a match
	limit   int // matching lines after which a file needs no more looking; 0 is none
	most    int // lines that are kept
}

// fileMatches is what a scanner found in a file.
type fileMatches struct {
	path    string
	skipped string // why it was not searched
	count   int    // matching lines
	lines   []grepLine
}

// Why a file that may well hold text was not searched.
const (
	tooLarge     = "too large"
	cannotBeRead = "cannot be read"
)

func (s scanner) file(ctx context.Context, ws *workspace.Workspace, path string) fileMatches {
	r := fileMatches{path: path}
	raw, err := ws.ReadFile(path, 0)
	switch {
	case errors.Is(err, workspace.ErrTooLarge):
		r.skipped = tooLarge
		return r
	case errors.Is(err, workspace.ErrNotRegular):
		r.skipped = "not a regular file"
		return r
	case err != nil:
		r.skipped = cannotBeRead
		return r
	}
	d, ok := decode(raw)
	if !ok {
		r.skipped = "binary"
		return r
	}
	s.text(ctx, toLF(d.text), &r)
	return r
}

// text adds the matches in text to r.
func (s scanner) text(ctx context.Context, text string, r *fileMatches) {
	number, counted := 1, 0 // of the line that starts at counted
	shown := 0              // lines up to this one are in r
	for from := 0; s.limit == 0 || r.count < s.limit; {
		line, match, ok := s.matcher.next(ctx, text, from)
		if !ok {
			return
		}
		r.count++
		number += strings.Count(text[counted:line.from], "\n")
		counted = line.from
		if len(r.lines) < s.most {
			s.around(text, line, number, shown, r)
			if n := len(r.lines); n > 0 && r.lines[n-1].Line == number { // it stood there as context
				r.lines = r.lines[:n-1]
			}
			r.lines = append(r.lines, grepLine{Path: r.path, Line: number, Text: clipAround(text[line.from:line.to], match)})
			shown = number
			rest := text[min(line.to+1, len(text)):]
			for i := 0; i < s.context && rest != ""; i++ {
				var l string
				l, _, rest = cutLineEnd(rest)
				shown++
				r.lines = append(r.lines, grepLine{Path: r.path, Line: shown, Text: clipAround(l, span{}), Context: true})
			}
		}
		from = line.to + 1
	}
}

// around adds the lines before a match that are not shown yet, and takes back
// those after it that were.
func (s scanner) around(text string, line span, number, shown int, r *fileMatches) {
	for n := len(r.lines); n > 0 && r.lines[n-1].Line > number; n-- {
		r.lines = r.lines[:n-1]
	}
	var before []grepLine
	end := line.from
	for n := number - 1; n >= 1 && n > shown && n >= number-s.context; n-- {
		start := strings.LastIndexByte(text[:end-1], '\n') + 1
		before = append(before, grepLine{Path: r.path, Line: n, Text: clipAround(text[start:end-1], span{}), Context: true})
		end = start
	}
	slices.Reverse(before)
	r.lines = append(r.lines, before...)
}

// clipAround returns the part of a line around a match that is shown.
func clipAround(line string, match span) string {
	const before, most = 100, 500
	if len(line) <= most {
		return line
	}
	from := max(match.from-before, 0)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	part, left := clip(line[from:], most)
	if from > 0 {
		part = "…" + part
	}
	if left > 0 {
		part += "…"
	}
	return part
}

// scan looks through the files of s, several at once, and hands what was found to
// add in the order of the walk, until add has enough.
func (s *search) scan(ctx context.Context, sc scanner, add func(fileMatches) bool) error {
	if s.file {
		add(sc.file(ctx, s.ws, s.start))
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := min(max(runtime.GOMAXPROCS(0), 2), 8)
	type job struct {
		path string
		done chan fileMatches
	}
	todo := make(chan job)
	ordered := make(chan job, 8*workers)
	for range workers {
		go func() {
			for j := range todo {
				j.done <- sc.file(ctx, s.ws, j.path)
			}
		}()
	}
	var walked error
	go func() {
		defer close(ordered)
		defer close(todo)
		walked = s.walk(ctx, func(e workspace.Entry) bool {
			if !e.Type.IsRegular() {
				return true
			}
			j := job{e.Path, make(chan fileMatches, 1)}
			select {
			case ordered <- j:
			case <-ctx.Done():
				return false
			}
			todo <- j
			return true
		})
	}()
	enough := false
	for j := range ordered {
		r := <-j.done
		if !enough && !add(r) {
			enough = true
			cancel() // the walk ends; what is under way is finished and dropped
		}
	}
	if enough {
		return nil
	}
	return walked
}
