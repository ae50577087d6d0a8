package builtin

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/callgate/callgate/workspace"
)

// maxAlternatives is how many patterns the braces of one may stand for.
const maxAlternatives = 256

// A globPattern says which paths match, and which directories can hold any that
// do. Paths are relative to where the search starts.
type globPattern struct {
	alternatives []alternative // braces expanded
	dirs         bool          // only directories match: the pattern ends with a slash
	deep         bool          // it has a ** somewhere
}

// An alternative is a pattern without braces.
type alternative struct {
	text    string
	parts   []string // between the slashes
	literal int      // how many of the first parts have no special character
}

// parsePattern reads a pattern. It may not climb: what a pattern can name is
// below the start, so an answer never depends on what is outside.
func parsePattern(pattern string) (p globPattern, err error) {
	texts, err := expandBraces(pattern)
	if err != nil {
		return p, err
	}
	p.dirs = true
	for _, text := range texts {
		var a alternative
		for part := range strings.SplitSeq(text, "/") {
			switch {
			case part == "" || part == ".":
				continue
			case part == "..":
				return p, errors.New(`it may not contain ".."; give the directory to search as path`)
			case !doublestar.ValidatePattern(part):
				return p, fmt.Errorf("%q is not a valid pattern: a bracket is not closed, or it ends in a backslash", part)
			}
			p.deep = p.deep || part == "**"
			if a.literal == len(a.parts) && !strings.ContainsAny(part, `*?[\`) {
				a.literal++
			}
			a.parts = append(a.parts, part)
		}
		if len(a.parts) == 0 {
			return p, errors.New("it names nothing; use * or **")
		}
		p.dirs = p.dirs && strings.HasSuffix(text, "/")
		a.text = strings.Join(a.parts, "/")
		p.alternatives = append(p.alternatives, a)
	}
	return p, nil
}

// match reports whether the file rel matches.
func (p globPattern) match(rel string) bool {
	for _, a := range p.alternatives {
		if ok, _ := doublestar.Match(a.text, rel); ok {
			return true
		}
	}
	return false
}

// descend reports whether something below the directory rel could match.
func (p globPattern) descend(rel string) bool {
	names := strings.Split(rel, "/")
	for _, a := range p.alternatives {
		if a.reaches(names) {
			return true
		}
	}
	return false
}

func (a alternative) reaches(names []string) bool {
	for i, name := range names {
		if i == len(a.parts) {
			return false
		}
		if a.parts[i] == "**" {
			return true
		}
		if ok, _ := doublestar.Match(a.parts[i], name); !ok {
			return false
		}
	}
	return len(a.parts) > len(names)
}

// names reports whether the pattern spells rel out: what somebody names is meant,
// ignored or not.
func (p globPattern) names(rel string) bool {
	for _, a := range p.alternatives {
		spelled := strings.Join(a.parts[:a.literal], "/")
		if spelled == rel || strings.HasPrefix(spelled, rel+"/") {
			return true
		}
	}
	return false
}

// relativePattern turns an absolute pattern below the workspace into one relative
// to it; its beginning up to the first special character says where it leads.
func relativePattern(ws *workspace.Workspace, pattern string) (string, error) {
	slashed := filepath.ToSlash(pattern)
	end := len(slashed)
	if i := strings.IndexAny(slashed, `*?[{\`); i >= 0 {
		end = strings.LastIndexByte(slashed[:i], '/') + 1
	}
	dir, err := ws.Clean(slashed[:end])
	if err != nil {
		return "", errors.New("it is outside the workspace; use a pattern relative to it")
	}
	if end == len(slashed) {
		return dir, nil
	}
	return path.Join(dir, ".") + "/" + slashed[end:], nil
}

// expandBraces returns the patterns that the braces of a pattern stand for.
func expandBraces(pattern string) ([]string, error) {
	done, todo := []string(nil), []string{pattern}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		before, choices, after, err := firstBraces(p)
		switch {
		case err != nil:
			return nil, err
		case choices == nil:
			done = append(done, p)
		}
		for i := len(choices) - 1; i >= 0; i-- {
			todo = append(todo, before+choices[i]+after)
		}
		if len(done)+len(todo) > maxAlternatives {
			return nil, fmt.Errorf("its braces stand for more than %d patterns", maxAlternatives)
		}
	}
	return done, nil
}

// firstBraces splits a pattern at its first pair of braces. Within brackets and
// after a backslash a brace is an ordinary character.
func firstBraces(p string) (before string, choices []string, after string, err error) {
	depth, open, from := 0, 0, 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			if n := strings.IndexByte(p[i+1:], ']'); n >= 0 {
				i += n + 1
			}
		case '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case ',':
			if depth == 1 {
				choices, from = append(choices, p[from:i]), i+1
			}
		case '}':
			if depth == 0 {
				return "", nil, "", errors.New("it has a closing brace without an opening one")
			}
			if depth--; depth == 0 {
				return p[:open], append(choices, p[from:i]), p[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New("it has a brace that is not closed")
	}
	return p, nil, "", nil
}

func isAbs(pattern string) bool { return path.IsAbs(pattern) || filepath.IsAbs(pattern) }
