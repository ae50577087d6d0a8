package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Workspace is an open directory tree. Its methods may be called by many goroutines at once.
type Workspace struct {
	root      *os.Root
	dir       string
	spellings []string // slash paths under which the root is known, the one given to Open first
	fold      bool     // names differing only by case are one file
	warnings  []string
	sawDir    func(dir string) // tests count directory reads; nil otherwise
}

// Open opens dir as a workspace. An empty, missing or non-directory dir is refused, and so is the root of a file system,
// where confinement would mean nothing: all of them match [ErrRoot]. What killed writers left behind is removed.
func Open(dir string) (*Workspace, error) { return open(dir, false) }

// OpenWholeDisk is [Open] for a caller who means it: dir may also be the root of a file system.
func OpenWholeDisk(dir string) (*Workspace, error) { return open(dir, true) }

func open(dir string, wholeDisk bool) (*Workspace, error) {
	refuse := func(reason, fix string, cause error) error {
		return &Error{Op: "open workspace", Path: dir, Reason: reason, Fix: fix, Err: ErrRoot, Cause: cause}
	}
	if dir == "" {
		return nil, refuse("the directory is not named", `use "." for the current one`, nil)
	}
	if strings.IndexByte(dir, 0) >= 0 {
		return nil, refuse("the name has a NUL character", "name a directory", nil)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, refuse("the current directory is unknown", "name an absolute directory", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse("it does not exist", "create it first", err)
	} else if err != nil {
		return nil, refuse(innermost(err).Error(), "name a directory you can enter", err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return nil, refuse(innermost(err).Error(), "name a directory you can enter", err)
	}
	if !st.IsDir() {
		return nil, refuse("it is not a directory", "name the directory that holds it", nil)
	}
	if filepath.Dir(real) == real && !wholeDisk {
		return nil, refuse("it is the root of the file system, so nothing would be outside", "name a project directory", nil)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, refuse(innermost(err).Error(), "name a directory you can enter", err)
	}
	w := &Workspace{
		root: root,
		dir:  abs,
		fold: runtime.GOOS == "darwin" || runtime.GOOS == "windows",
	}
	w.addSpelling(abs)
	w.addSpelling(real)
	// macOS: /tmp, /var and /etc are links into /private, and people write either.
	if short, ok := strings.CutPrefix(real, "/private/"); ok && sameDir("/"+short, st) {
		w.addSpelling("/" + short)
	}
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		w.warnHome(home)
	}
	w.sweep()
	return w, nil
}

func (w *Workspace) addSpelling(dir string) {
	s := filepath.ToSlash(filepath.Clean(dir))
	for _, have := range w.spellings {
		if have == s {
			return
		}
	}
	w.spellings = append(w.spellings, s)
}

func sameDir(dir string, st fs.FileInfo) bool {
	other, err := os.Stat(dir)
	return err == nil && os.SameFile(st, other)
}

func (w *Workspace) warnHome(home string) {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	rest, ok := w.cut(filepath.ToSlash(home))
	if !ok {
		return
	}
	what := "is your home directory"
	if rest != "." {
		what = "contains your home directory"
	}
	w.warnings = append(w.warnings, fmt.Sprintf("the workspace %s %s: keys, mail and every project are inside it; a project directory is safer", w.dir, what))
}

// Close releases the directory. Files that are already open stay usable.
func (w *Workspace) Close() error { return w.root.Close() }

// Dir is the absolute path of the workspace in the spelling given to Open.
func (w *Workspace) Dir() string { return w.dir }

// Warnings are sentences for the person who chose the directory: it is, or contains, the home directory. Usually none.
func (w *Workspace) Warnings() []string { return append([]string(nil), w.warnings...) }
