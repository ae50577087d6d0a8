package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxIgnoreFile is the most that is read of one .gitignore: 1 MiB. A larger one is ignored whole, not in part.
const maxIgnoreFile = 1 << 20

// rules are the patterns of one file, in the order of its lines, for paths below dir.
type rules struct {
	dir      string
	patterns []pattern
}

func parseRules(dir, text string, fold bool) rules {
	r := rules{dir: dir}
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if p, ok := parsePattern(strings.TrimSuffix(line, "\r"), fold); ok {
			r.patterns = append(r.patterns, p)
		}
	}
	return r
}

// ruleset is what applies in one directory: the weakest first, so the last match decides (gitignore(5)): .git/info/exclude,
// then each .gitignore from the root down. It is never changed, so a walk can hand it to several directories.
type ruleset []rules

// ignored tells whether rel is excluded by a pattern of its own. That a directory above it is excluded is the walk's affair.
func (s ruleset) ignored(rel string, isDir bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		r := &s[i]
		below := rel
		if r.dir != "." {
			below = strings.TrimPrefix(rel, r.dir+"/")
		}
		for j := len(r.patterns) - 1; j >= 0; j-- {
			if p := &r.patterns[j]; p.match(below, isDir) {
				return !p.negate
			}
		}
	}
	return false
}

// enter adds the rules of directory rel, whose open root is at and whose listing is entries. A repository inside the
// workspace adds its own exclude file.
func (s ruleset) enter(at *os.Root, rel string, entries []fs.DirEntry, fold bool) ruleset {
	out := s[:len(s):len(s)]
	for _, f := range []struct{ entry, file string }{{".git", ".git/info/exclude"}, {".gitignore", ".gitignore"}} {
		_, listed := slices.BinarySearchFunc(entries, f.entry, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		if !listed {
			continue
		}
		if text := readIgnore(at, f.file); text != "" {
			out = append(out, parseRules(rel, text, fold))
		}
	}
	return out
}

// readIgnore reads an ignore file. Like git (2.32 and later) it does not follow a link to one; a pipe is not opened.
func readIgnore(at *os.Root, name string) string {
	st, err := at.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := at.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if err != nil || len(data) > maxIgnoreFile {
		return ""
	}
	return string(data)
}

// rulesAbove collects the rules of the directories from the root to the parent of rel, and tells whether rel lies in
// something ignored or in .git.
func (w *Workspace) rulesAbove(rel string) (s ruleset, ignored bool, err error) {
	if rel == "." {
		return nil, false, nil
	}
	dir := "."
	parts := strings.Split(rel, "/")
	for i, name := range parts {
		at, err := w.root.OpenRoot(asDir(dir))
		if err != nil {
			return nil, false, err
		}
		entries, err := readDir(at, ".")
		if err == nil {
			s = s.enter(at, dir, entries, w.fold)
		}
		at.Close()
		dir = path.Join(dir, name)
		isDir := i < len(parts)-1
		if !isDir {
			st, err := w.root.Lstat(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, false, err
			}
			isDir = err == nil && st.IsDir()
		}
		ignored = ignored || name == ".git" || s.ignored(dir, isDir)
	}
	return s, ignored, nil
}
