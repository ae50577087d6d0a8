package process

import (
	"os"
	"path/filepath"
	"strings"
)

// A linked is the repository of a workspace that is a linked working tree (git
// worktree): what git changes lies outside of it.
type linked struct {
	common string   // of all working trees: objects, refs; to be written; "" if it lies in the workspace
	fixed  []string // in it, to be protected
}

// places are those of a repository that git obeys.
func (l *linked) places(repository string) {
	for _, name := range []string{"hooks", "config", "config.worktree", "modules"} {
		l.fixed = append(l.fixed, filepath.Join(repository, name))
	}
}

// linkedTree finds the repository of a linked working tree (gitrepository-layout(5)).
// The file .git of a workspace may have been made by a process in it. It is believed
// only as far as what it names lies outside, is laid out as git does, and names the
// workspace in its turn: who could write that could write there already.
func linkedTree(workspace string) (l linked, ok bool) {
	file := filepath.Join(workspace, ".git")
	if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() || st.Size() > 8<<10 {
		return l, false
	}
	dir, ok := strings.CutPrefix(line(file), "gitdir: ")
	if !ok {
		return l, false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(workspace, dir)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err == nil && within(workspace, dir) { // git init --separate-git-dir, or what pretends to be
		l.places(dir)
		return l, true
	}
	if err != nil || filepath.Base(filepath.Dir(dir)) != "worktrees" {
		return l, false
	}
	back := line(filepath.Join(dir, "gitdir"))
	if !filepath.IsAbs(back) {
		back = filepath.Join(dir, back)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(back)); err != nil || real != workspace || filepath.Base(back) != ".git" {
		return l, false
	}
	l.common = filepath.Dir(filepath.Dir(dir))
	if within(workspace, l.common) || within(l.common, workspace) {
		return l, false
	}
	l.places(l.common)
	l.fixed = append(l.fixed, filepath.Join(dir, "config.worktree"))
	return l, true
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
