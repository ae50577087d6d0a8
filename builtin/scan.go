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
	re *regexp.Regexp // with (?m)
	// whole says that searching the whole text at once cannot miss a line: the
	// expression has no \A or \z, which mean a line's ends.
	whole bool
}

func newMatcher(pattern string) (m matcher, err error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return m, badRegexp(pattern, err)
	}
	if m.re, err = regexp.Compile("(?m:" + pattern + ")"); err != nil {
		return m, badRegexp(pattern, err)
	}
	tree, err := syntax.Parse("(?m:"+pattern+")", syntax.Perl)
	m.whole = err == nil && !textEnds(tree)
	return m, nil
}

func textEnds(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, textEnds)
}

// next returns the first line of text at or after place from that matches: its
// span, and the match in it. from is the start of a line.
//
// The leftmost match in the whole text cannot lie behind a match within a line,
// so lines before the one where it starts need no look. It may itself go over a
// line end, and then that line is asked alone.
func (m matcher) next(text string, from int) (line, match span, ok bool) {
	for from < len(text) {
		at := from
		if m.whole {
			loc := m.re.FindStringIndex(text[from:])
			if loc == nil {
				return line, match, false
			}
			at = from + loc[0]
			if at == len(text) && strings.HasSuffix(text, "\n") {
				return line, match, false // an empty match after the last line end
			}
		}
		line.from = strings.LastIndexByte(text[:at], '\n') + 1
		line.to = len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			line.to = at + i
		}
		if loc := m.re.FindStringIndex(text[line.from:line.to]); loc != nil {
			return line, span{loc[0], loc[1]}, true
		}
		from = line.to + 1
	}
	return line, match, false
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

func (s scanner) file(ws *workspace.Workspace, path string) fileMatches {
	r := fileMatches{path: path}
	raw, err := ws.ReadFile(path, 0)
	switch {
	case errors.Is(err, workspace.ErrTooLarge):
		r.skipped = "too large"
		return r
	case errors.Is(err, workspace.ErrNotRegular):
		r.skipped = "not a regular file"
		return r
	case err != nil:
		r.skipped = "cannot be read"
		return r
	}
	d, ok := decode(raw)
	if !ok {
		r.skipped = "binary"
		return r
	}
	s.text(toLF(d.text), &r)
	return r
}

// text adds the matches in text to r.
func (s scanner) text(text string, r *fileMatches) {
	number, counted := 1, 0 // of the line that starts at counted
	shown := 0              // lines up to this one are in r
	for from := 0; s.limit == 0 || r.count < s.limit; {
		line, match, ok := s.matcher.next(text, from)
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
		add(sc.file(s.ws, s.start))
		return nil
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
				j.done <- sc.file(s.ws, j.path)
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
