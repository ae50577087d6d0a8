package builtin

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate"
)

type grepInput struct {
	Pattern string `json:"pattern" description:"Regular expression (RE2) to find in a line." minLength:"1" maxLength:"10000"`
	Path    string `json:"path,omitempty" description:"Directory or file to search; the workspace if absent." minLength:"1"`
	Glob    string `json:"glob,omitempty" description:"Pattern of the files to search, such as *.go." minLength:"1" maxLength:"1000"`
	Context int    `json:"context,omitzero" description:"Lines to show before and after each match; none if absent." minimum:"0" maximum:"20"`
	Mode    string `json:"mode,omitempty" description:"What to show; content if absent." enum:"content,files,count"`
}

type grepOutput struct {
	Lines     []grepLine `json:"lines" description:"Matching lines and those around them; empty unless mode is content."`
	Files     []grepFile `json:"files" description:"Files with matching lines."`
	Searched  int        `json:"searched" description:"Files that were searched."`
	Truncated bool       `json:"truncated" description:"There are more than are listed."`
	Skipped   []string   `json:"skipped,omitzero" description:"Files that were not searched, with the reason, at most 100."`
	Ignored   []string   `json:"ignored,omitzero" description:"Ignored directories that were not searched, at most 100."`
	Links     []string   `json:"links,omitzero" description:"Linked directories that were not entered, at most 100."`
}

type grepLine struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Text    string `json:"text" description:"Of a long line the part around the match."`
	Context bool   `json:"context,omitzero" description:"It stands beside a match."`
}

type grepFile struct {
	Path  string `json:"path"`
	Count int    `json:"count" description:"Matching lines; in mode content those that are listed, in mode files 1."`
}

// maxGrepLines is how many lines a result lists.
const maxGrepLines = 250

func (f *Files) grep() (callgate.Tool, error) {
	return tool(f.spec("grep", "Search in files", callgate.Annotations{ReadOnlyHint: true}),
		func(in grepInput) []callgate.Access { return f.below(in.Path, in.Glob) }, f.search)
}

func (f *Files) search(ctx context.Context, _ string, in grepInput) (a answer[grepOutput], err error) {
	m, err := newMatcher(in.Pattern)
	if err != nil {
		return a, callgate.Errorf(callgate.ExecutionError, "grep: %w", err)
	}
	s, err := f.grepFiles(ctx, in)
	if err != nil {
		return a, err
	}
	mode := in.Mode
	if mode == "" {
		mode = "content"
	}
	out := grepText{answer: &a.value, mode: mode, around: in.Context > 0, room: f.outputLimit() - 200}
	a.value.Lines, a.value.Files = []grepLine{}, []grepFile{}
	scan := scanner{matcher: m, context: in.Context, most: maxGrepLines + 1, limit: limitOf(mode)}
	if err := s.scan(ctx, scan, out.add); err != nil {
		return a, failed(err)
	}
	found := len(a.value.Files) > 0
	a.value.Ignored, a.value.Links = s.skippedDirs[:min(len(s.skippedDirs), 100)], s.links[:min(len(s.links), 100)]
	for _, n := range s.notes(found, "give it as path to search it") {
		a.note("%s", n)
	}
	// Binary files are no text to miss beside other matches; what could not be searched may hold the one that was meant.
	skipped := a.value.Skipped
	if found {
		skipped = out.unsearched
	}
	if len(skipped) > 0 {
		a.note("not searched: %s", some(skipped))
	}
	if a.value.Truncated {
		a.note("there are more matches than are shown; narrow pattern, path or glob to see others")
	}
	if !found {
		a.text("(no matches)")
		return a, nil
	}
	a.text(strings.TrimSuffix(out.b.String(), "\n"))
	return a, nil
}

// grepFiles prepares the walk over the files to search.
func (f *Files) grepFiles(ctx context.Context, in grepInput) (*search, error) {
	pattern := in.Glob
	switch {
	case pattern == "":
		pattern = "**"
	case !strings.Contains(strings.TrimSuffix(pattern, "/"), "/"):
		pattern = "**/" + pattern // a bare name, at any depth
	}
	s, err := f.newSearch(in.Path, pattern, false)
	if err != nil {
		return nil, badSearch("grep", in.Glob, err)
	}
	if s.start == "." {
		return s, nil
	}
	st, err := f.Workspace.Stat(s.start)
	if err != nil {
		return nil, f.notThere(ctx, "grep", s.start, err)
	}
	if !st.IsDir() { // what is named is searched, whatever glob says
		s.file = true
	}
	return s, nil
}

// limitOf is how many matching lines of one file are worth finding.
func limitOf(mode string) int {
	switch mode {
	case "files":
		return 1
	case "count":
		return 0 // all
	}
	return maxGrepLines + 1
}

// A grepText turns what was found in each file, in order, into the answer.
type grepText struct {
	answer *grepOutput
	mode   string
	room   int
	around bool // lines around matches are shown too
	lines  int
	b      strings.Builder

	unsearched []string // text for all we know that was not searched, with the reason, at most 100
}

// add takes what was found in one file and reports whether there is room for more.
func (t *grepText) add(r fileMatches) bool {
	if r.skipped != "" {
		if len(t.answer.Skipped) < 100 {
			t.answer.Skipped = append(t.answer.Skipped, r.path+" ("+r.skipped+")")
		}
		if (r.skipped == tooLarge || r.skipped == cannotBeRead) && len(t.unsearched) < 100 {
			t.unsearched = append(t.unsearched, r.path+" ("+r.skipped+")")
		}
		return true
	}
	t.answer.Searched++
	if r.count == 0 {
		return true
	}
	switch t.mode {
	case "files":
		return t.line(onOneLine(r.path)) && t.file(r.path, r.count)
	case "count":
		return t.line(fmt.Sprintf("%s:%d", onOneLine(r.path), r.count)) && t.file(r.path, r.count)
	}
	head := onOneLine(r.path)
	if t.b.Len() > 0 {
		head = "\n" + head
	}
	last, shown := 0, 0
	for i, l := range r.lines {
		sep := ":"
		if l.Context {
			sep = "-"
		}
		text := fmt.Sprintf("%6d%s\t%s", l.Line, sep, l.Text)
		switch {
		case i == 0:
			text = head + "\n" + text
		case t.around && l.Line > last+1:
			text = "    --\n" + text
		}
		if !t.line(text) {
			t.file(r.path, shown)
			return false
		}
		if last = l.Line; !l.Context {
			shown++
		}
		t.answer.Lines = append(t.answer.Lines, l)
	}
	return t.file(r.path, shown)
}

func (t *grepText) line(s string) bool {
	if t.lines++; t.lines > maxGrepLines {
		t.answer.Truncated = true
		return false
	}
	if t.room -= utf8.RuneCountInString(s) + 1; t.room < 0 {
		t.answer.Truncated = true
		return false
	}
	t.b.WriteString(s)
	t.b.WriteByte('\n')
	return true
}

func (t *grepText) file(path string, count int) bool {
	if count > 0 {
		t.answer.Files = append(t.answer.Files, grepFile{path, count})
	}
	return true
}

// badRegexp says where an expression is wrong.
func badRegexp(pattern string, err error) error {
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return fmt.Errorf("the pattern is not a regular expression: %w", err)
	}
	where := ""
	if i := strings.Index(pattern, e.Expr); i >= 0 && e.Expr != "" {
		where = fmt.Sprintf(" at character %d (%s)", utf8.RuneCountInString(pattern[:i])+1, quoteLine(e.Expr, 0))
	}
	hint := "; escape special characters with a backslash to match them as they are"
	switch {
	case strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!") || strings.HasPrefix(e.Expr, "(?<"):
		hint = "; RE2 has no look-around"
	case e.Code == syntax.ErrInvalidEscape && len(e.Expr) == 2 && e.Expr[1] >= '1' && e.Expr[1] <= '9':
		hint = "; RE2 has no back references"
	}
	return fmt.Errorf("the pattern is not an RE2 expression: %s%s%s", e.Code, where, hint)
}
