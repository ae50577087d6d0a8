package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/workspace"
)

type globInput struct {
	Pattern        string `json:"pattern" description:"Pattern of the paths to find." minLength:"1" maxLength:"1000"`
	Path           string `json:"path,omitempty" description:"Directory to search; the workspace if absent." minLength:"1"`
	IncludeIgnored bool   `json:"include_ignored,omitzero" description:"Also find what .gitignore excludes; false if absent."`
}

type globOutput struct {
	Matches []globMatch `json:"matches" description:"The newest first."`
	Total   int         `json:"total" description:"Matches in all; more than are listed if over 100."`
	Ignored []string    `json:"ignored,omitzero" description:"Ignored directories that were not searched, at most 100."`
	Links   []string    `json:"links,omitzero" description:"Linked directories that were not entered, at most 100."`
}

type globMatch struct {
	Path     string    `json:"path"`
	Type     string    `json:"type" enum:"file,directory,link,other"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// maxMatches is how many paths a result lists.
const maxMatches = 100

func (f *Files) glob() (callgate.Tool, error) {
	return tool(f.spec("glob", "Find files", callgate.Annotations{ReadOnlyHint: true}),
		func(in globInput) []callgate.Access { return f.below(in.Path, in.Pattern) }, f.find)
}

// below is the access of a search.
func (f *Files) below(name, pattern string) []callgate.Access {
	if name == "" || isAbs(pattern) {
		return []callgate.Access{{Key: workspace.WholeKey}}
	}
	return []callgate.Access{{Key: f.Workspace.LexicalKey(name)}}
}

func (f *Files) find(ctx context.Context, _ string, in globInput) (a answer[globOutput], err error) {
	s, err := f.newSearch(in.Path, in.Pattern, in.IncludeIgnored)
	if err != nil {
		return a, badSearch("glob", in.Pattern, err)
	}
	if err := f.directoryToSearch(ctx, "glob", s.start); err != nil {
		return a, err
	}
	a.value.Matches = []globMatch{}
	err = s.walk(ctx, func(e workspace.Entry) bool {
		st, err := e.Info()
		if err != nil {
			return true // it is gone
		}
		a.value.Total++
		a.value.Matches = append(a.value.Matches, globMatch{Path: e.Path, Type: typeOf(e.Type), Bytes: st.Size(), Modified: st.ModTime().UTC()})
		if len(a.value.Matches) >= 10*maxMatches {
			a.value.Matches = newest(a.value.Matches)
		}
		return true
	})
	if err != nil {
		return a, failed(err)
	}
	a.value.Matches = newest(a.value.Matches)
	a.value.Ignored, a.value.Links = s.skippedDirs[:min(len(s.skippedDirs), 100)], s.links[:min(len(s.links), 100)]
	for _, n := range s.notes(a.value.Total > 0, "set include_ignored, or name it in the pattern, to find it") {
		a.note("%s", n)
	}
	if a.value.Total == 0 {
		a.text("(no matches)")
		return a, nil
	}
	if a.value.Total > maxMatches {
		a.note("these are the %d newest of %d matches; narrow the pattern to see others", maxMatches, a.value.Total)
	}
	var b strings.Builder
	room := f.outputLimit() - 100
	for i, m := range a.value.Matches {
		line := onOneLine(m.Path)
		if m.Type == "directory" {
			line += "/"
		}
		if room -= len(line) + 1; room < 0 {
			fmt.Fprintf(&b, "\n... (%s not shown)", plural(len(a.value.Matches)-i, "match"))
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	a.text(b.String())
	return a, nil
}

func typeOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

// newest sorts matches, the newest first, and drops what a result does not list.
func newest(m []globMatch) []globMatch {
	slices.SortFunc(m, func(a, b globMatch) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Path, b.Path))
	})
	return m[:min(len(m), maxMatches)]
}

// badSearch is the answer to a pattern or directory that cannot be searched for.
func badSearch(op, pattern string, err error) error {
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		return failed(e)
	}
	return callgate.Errorf(callgate.ExecutionError, "%s %q: the pattern cannot be used: %w", op, pattern, err)
}

func (f *Files) notThere(ctx context.Context, op, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return f.missing(ctx, op, name, err)
	}
	return failed(err)
}

// directoryToSearch refuses a start that is no directory.
func (f *Files) directoryToSearch(ctx context.Context, op, start string) error {
	st, err := f.Workspace.Stat(start)
	switch {
	case err != nil:
		return f.notThere(ctx, op, start, err)
	case !st.IsDir():
		return callgate.Errorf(callgate.ExecutionError, "%s %q: path is not a directory; name one, or read the file with read_file", op, start)
	}
	return nil
}
