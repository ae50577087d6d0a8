package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/workspace"
)

// unsearched are directories that a search leaves out as if they were ignored,
// whether or not a .gitignore says so: what a package manager put there, and the
// stores of other version control systems. (.git is never seen at all.)
var unsearched = map[string]bool{"node_modules": true, ".hg": true, ".svn": true, ".jj": true}

// A search walks the directory start for the files of a pattern, and keeps what
// it left out, so that "no match" is never the whole answer.
type search struct {
	ws      *workspace.Workspace
	start   string // clean
	pattern globPattern
	ignored bool // ignored files too
	file    bool // start is one file to search

	named       bool     // start is itself ignored, and was asked for by name
	opened      []string // ignored directories that the pattern names
	dirs        int      // directories that were read
	skippedDirs []string // ignored directories that might have held matches
	skipped     int      // ignored files and directories that match
	links       []string // linked directories that might have held matches, with where they lead
	failed      []string // directories that could not be read
}

// newSearch prepares a search for pattern below name, "" being the workspace. An
// absolute pattern starts at the workspace whatever name is.
func (f *Files) newSearch(name, pattern string, ignored bool) (s *search, err error) {
	s = &search{ws: f.Workspace, start: ".", ignored: ignored}
	if isAbs(pattern) {
		if pattern, err = relativePattern(s.ws, pattern); err != nil {
			return nil, err
		}
	} else if name != "" {
		if s.start, err = s.ws.Clean(name); err != nil {
			return nil, err
		}
	}
	if s.pattern, err = parsePattern(pattern); err != nil {
		return nil, err
	}
	s.named, err = s.ws.Ignored(s.start)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the walk says it better
	}
	return s, err
}

// walk yields what matches, in the order of the paths: files, links, and, where
// the pattern has no **, directories. It ends early with the error of ctx.
func (s *search) walk(ctx context.Context, yield func(e workspace.Entry) bool) error {
	s.dirs++
	opts := workspace.WalkOptions{Start: s.start, Ignored: workspace.IncludeIgnored, Enter: s.enter}
	for e, err := range s.ws.Walk(ctx, opts) {
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if e.Path == s.start {
				return err
			}
			s.failed = append(s.failed, e.Path)
			continue
		}
		rel := s.rel(e.Path)
		if e.IsLink() && s.pattern.descend(rel) {
			s.link(e.Path)
		}
		if s.pattern.dirs && !e.IsDir() || e.IsDir() && s.pattern.deep && !s.pattern.dirs || !s.pattern.match(rel) {
			continue
		}
		if s.leavesOut(e, rel) {
			s.skipped++
			continue
		}
		if !yield(e) {
			return nil
		}
	}
	return nil
}

func (s *search) rel(p string) string {
	if s.start == "." {
		return p
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, s.start), "/")
}

// enter decides about a directory before it is read: an ignored tree costs
// nothing, however large it is.
func (s *search) enter(e workspace.Entry) bool {
	rel := s.rel(e.Path)
	switch {
	case !s.pattern.descend(rel):
		return false
	case s.leavesOut(e, rel):
		s.skippedDirs = append(s.skippedDirs, e.Path+"/")
		return false
	}
	if s.isIgnored(e) {
		s.opened = append(s.opened, rel)
	}
	s.dirs++
	return true
}

func (s *search) isIgnored(e workspace.Entry) bool {
	return e.Ignored && !s.named || e.IsDir() && unsearched[path.Base(e.Path)]
}

// leavesOut reports whether e is ignored and nobody asked for it.
func (s *search) leavesOut(e workspace.Entry, rel string) bool {
	if s.ignored || !s.isIgnored(e) || s.pattern.names(rel) {
		return false
	}
	for _, dir := range s.opened {
		if strings.HasPrefix(rel, dir+"/") {
			return false
		}
	}
	return true
}

// link notes a link to a directory, which is not entered: a circle of links would
// never end, and one file would be found many times.
func (s *search) link(name string) {
	to, err := s.ws.Resolve(name)
	if err != nil {
		s.links = append(s.links, name+" (leads outside the workspace or in a circle)")
		return
	}
	if st, err := s.ws.Stat(name); err == nil && st.IsDir() {
		s.links = append(s.links, fmt.Sprintf("%s (leads to %s)", name, to))
	}
}

// notes says what was left out. found is whether there was any match: what is
// merely ignored is only worth a word if there was none.
func (s *search) notes(found bool, how string) (notes []string) {
	if len(s.links) > 0 {
		notes = append(notes, "linked directories are not entered: "+some(s.links)+"; give one as path to search it")
	}
	if len(s.skippedDirs) > 0 && !found {
		notes = append(notes, "not searched because ignored: "+some(s.skippedDirs)+"; "+how)
	}
	if s.skipped > 0 {
		notes = append(notes, plural(s.skipped, "match")+" left out because ignored; "+how)
	}
	if len(s.failed) > 0 {
		notes = append(notes, "could not be read: "+some(s.failed))
	}
	return notes
}

// some names the first of many.
func some(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

// onOneLine returns a path as it is listed: one that could pass for several, or
// that cannot be seen, is quoted.
func onOneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	return name
}
