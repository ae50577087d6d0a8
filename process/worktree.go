package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A linked is the repository of a workspace whose .git is a file that names it.
type linked struct {
	common string   // of all working trees, outside of the workspace: objects, refs; to be written; "" if there is none
	fixed  []string // what says which programs git runs, to be protected: in common, in the workspace, or in its .git
}

// controls are what git takes from a directory of its own that makes it run programs.
// commondir names another directory to take the others from (gitrepository-layout(5));
// only a linked working tree has one.
func controls(dir string) (names []string) {
	for _, name := range []string{"hooks", "config", "config.worktree", "modules", "commondir"} {
		names = append(names, filepath.Join(dir, name))
	}
	return names
}

// others returns what the working trees that are linked to a repository, but lie outside
// of the workspace, take from it that makes git run programs there. gitdir is with them:
// with another one they would lie inside for the next call.
func others(common, workspace string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(common, "worktrees"))
	for _, e := range entries {
		dir := filepath.Join(common, "worktrees", e.Name())
		if back := line(filepath.Join(dir, "gitdir")); filepath.IsAbs(back) && within(workspace, filepath.Clean(back)) {
			continue
		}
		for _, name := range []string{"commondir", "config.worktree", "gitdir"} {
			names = append(names, filepath.Join(dir, name))
		}
	}
	return names
}

// linkedTree finds the repository of a workspace whose .git is a file: that of a linked
// working tree (git worktree), which lies outside, or one that is kept in another
// directory of the workspace.
// The file .git of a workspace may have been made by a process in it. It is believed
// only as far as what it names lies outside, is laid out as git does, and names the
// workspace in its turn: who could write that could write there already. That may have
// been in another workspace, so that a working tree is not taken for a repository, and
// its settings are protected.
func linkedTree(workspace string) (l linked, ok bool) {
	file := filepath.Join(workspace, ".git")
	st, err := os.Lstat(file)
	if err == nil && st.IsDir() {
		l.fixed = others(file, workspace)
		return l, len(l.fixed) > 0
	}
	if err != nil || !st.Mode().IsRegular() || st.Size() > 8<<10 {
		return l, false
	}
	dir, ok := strings.CutPrefix(line(file), "gitdir: ")
	if !ok {
		return l, false
	}
	dir, ok = follow(workspace, dir)
	if !ok {
		return l, false
	}
	if within(workspace, dir) {
		l.fixed = controls(dir)
		if common, ok := follow(dir, line(filepath.Join(dir, "commondir"))); ok && common != dir && within(workspace, common) {
			l.fixed = append(l.fixed, controls(common)...)
		}
		return l, true
	}
	if filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return l, false
	}
	back := line(filepath.Join(dir, "gitdir"))
	if tree, ok := follow(dir, filepath.Dir(back)); !ok || tree != workspace || filepath.Base(back) != ".git" {
		return l, false
	}
	l.common = filepath.Dir(filepath.Dir(dir))
	if common, ok := follow(dir, line(filepath.Join(dir, "commondir"))); !ok || common != l.common {
		return l, false
	}
	if within(workspace, l.common) || within(l.common, workspace) || !isRepository(l.common) {
		return l, false
	}
	l.fixed = append(controls(l.common), filepath.Join(dir, "config.worktree"), filepath.Join(dir, "commondir"))
	l.fixed = append(l.fixed, others(l.common, workspace)...)
	for _, name := range Protected {
		if !strings.HasPrefix(name, ".git/") {
			l.fixed = append(l.fixed, filepath.Join(l.common, name))
		}
	}
	return l, true
}

// follow returns where a path leads that stands in dir, or is absolute.
func follow(dir, path string) (real string, ok bool) {
	if path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	return real, err == nil
}

// isRepository reports whether git takes dir for a repository, and it is no working tree.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return errors.Is(err, fs.ErrNotExist)
}

// line returns the first line of a small file.
func line(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 8<<10)
	n, _ := f.Read(b)
	first, _, _ := strings.Cut(string(b[:n]), "\n")
	return strings.TrimSuffix(first, "\r")
}
