package workspace

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
)

// IgnoreMode says what a walk does with what .gitignore excludes.
type IgnoreMode int

const (
	// SkipIgnored leaves ignored files and directories out. It is the zero value.
	SkipIgnored IgnoreMode = iota
	// ReportIgnored yields them with Entry.Ignored set, and does not go into ignored directories.
	ReportIgnored
	// IncludeIgnored yields them with Entry.Ignored set, and goes into them.
	IncludeIgnored
)

// WalkOptions adjusts a walk. The zero value walks the whole workspace without ignored files.
type WalkOptions struct {
	// Start is the directory to walk, or one file; "" is the whole workspace. It may be a link that leads inside.
	Start string
	// Ignored says what happens to what .gitignore and .git/info/exclude exclude.
	Ignored IgnoreMode
	// Enter is asked before a directory is read; false leaves out what is below it. Nil enters all. The start is not asked about.
	Enter func(Entry) bool
}

// Entry is one name that a walk found.
type Entry struct {
	// Path is relative to the root, with slashes. Below a start that is a link it goes through the name of the link.
	Path string
	// Type has the type bits only: a directory, a link (never followed), a regular file, or something else.
	Type fs.FileMode
	// Ignored: a .gitignore excludes it, or a directory between the start and it.
	Ignored bool

	w    *Workspace
	real string
}

// IsDir tells whether the entry is a directory; a link to one is not.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// IsLink tells whether the entry is a symbolic link. What it leads to was not visited under this name.
func (e Entry) IsLink() bool { return e.Type&fs.ModeSymlink != 0 }

// Info looks the entry up: size, time, permissions; of the link itself if it is one. It fails if the entry is gone.
func (e Entry) Info() (fs.FileInfo, error) {
	st, err := e.w.root.Lstat(e.real)
	return st, describe("list", e.Path, err)
}

// Walk yields what is below opts.Start, each directory before its content, in the byte order of the names; the start itself
// is yielded only if it is not a directory. Names starting with a dot are seen, .git is not. Links are yielded and not
// followed, so a circle of links cannot hold it. An ignored directory is not read.
//
// A start that is itself ignored, or is in .git, is walked all the same, by the rules found in it and not by those above it.
// Nested .gitignore files and .git/info/exclude are honoured, as git would; not git's global excludes file, nor anything
// above the workspace.
//
// A directory that cannot be read is yielded a second time with the error, and the walk goes on. When ctx ends, its error
// is yielded last. A missing or refused start is yielded as an error at once.
func (w *Workspace) Walk(ctx context.Context, opts WalkOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		start := opts.Start
		if start == "" {
			start = "."
		}
		shown, err := w.rel("list", start)
		if err != nil {
			yield(Entry{Path: start, w: w}, err)
			return
		}
		real, err := w.locate("list", start)
		if err != nil {
			yield(Entry{Path: shown, w: w}, err)
			return
		}
		first := Entry{Path: shown, w: w, real: real}
		st, err := w.root.Lstat(real)
		if err == nil {
			first.Type = st.Mode().Type()
		}
		above, ignored, rulesErr := w.rulesAbove(real)
		if err == nil {
			err = rulesErr
		}
		if err != nil {
			yield(first, describe("list", start, err))
			return
		}
		if ignored { // named outright, so it is wanted
			above = nil
		}
		if !first.IsDir() {
			yield(first, nil)
			return
		}
		at, err := w.root.OpenRoot(asDir(real))
		if err != nil {
			yield(first, describe("list", start, err))
			return
		}
		defer at.Close()
		v := &walker{w: w, ctx: ctx, opts: opts, yield: yield}
		v.dir(at, first, above)
	}
}

type walker struct {
	w     *Workspace
	ctx   context.Context
	opts  WalkOptions
	yield func(Entry, error) bool
}

// dir visits one open directory and reports whether to go on. Each directory is opened from its parent's handle: one step
// for the kernel however deep it is, and a directory swapped for a link cannot lead up.
func (v *walker) dir(at *os.Root, d Entry, above ruleset) bool {
	if v.w.sawDir != nil {
		v.w.sawDir(d.real)
	}
	entries, err := readDir(at, ".")
	if err != nil && !v.yield(d, describe("list", d.Path, err)) {
		return false
	}
	here := above.enter(at, d.real, entries, v.w.fold)
	for _, de := range entries {
		name := de.Name()
		if _, own := ownName(name); name == ".git" || own != "" {
			continue
		}
		e := Entry{Path: path.Join(d.Path, name), Type: de.Type(), w: v.w, real: path.Join(d.real, name)}
		excluded := here.ignored(e.real, e.IsDir())
		e.Ignored = excluded || d.Ignored
		if excluded && v.opts.Ignored == SkipIgnored {
			continue
		}
		if err := v.ctx.Err(); err != nil {
			v.yield(e, err)
			return false
		}
		if !v.yield(e, nil) {
			return false
		}
		if !e.IsDir() || excluded && v.opts.Ignored != IncludeIgnored || v.opts.Enter != nil && !v.opts.Enter(e) {
			continue
		}
		sub, err := at.OpenRoot(asDir(name))
		if err != nil {
			if !v.yield(e, describe("list", e.Path, err)) {
				return false
			}
			continue
		}
		more := v.dir(sub, e, here)
		sub.Close()
		if !more {
			return false
		}
	}
	return true
}

// asDir makes os.Root open name as a directory or not at all. Root.OpenRoot would open a pipe and wait for its writer.
func asDir(name string) string { return name + "/." }

// readDir lists a directory of the root in the byte order of the names.
func readDir(root *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := root.Open(asDir(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
