package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// maxLinks is the number of links that one path may pass, as in Linux (path_resolution(7)).
const maxLinks = 40

// What a path may be: as long as Linux takes one at once (PATH_MAX), in bytes as written, and as deep as trees of people
// are by far, in names. Looking a path up costs the square of its depth; without a limit one call could take minutes.
const (
	maxPath  = 4096
	maxDepth = 255
)

// shownPath is how much of a path that is too long is said back, in bytes.
const shownPath = 100

// rel turns a path as the model wrote it into a clean slash path below the root, "." being the root. It reads nothing.
func (w *Workspace) rel(op, name string) (string, error) {
	bad := func(kind error, reason, fix string) (string, error) {
		return "", &Error{Op: op, Path: name, Reason: reason, Fix: fix, Err: kind}
	}
	if name == "" {
		return bad(ErrInvalidPath, "the path is empty", `name a file, or "." for the workspace itself`)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return bad(ErrInvalidPath, "the path has a NUL character", "remove it")
	}
	if len(name) > maxPath {
		long := name
		name = strings.ToValidUTF8(name[:shownPath], "") + "…"
		return bad(ErrInvalidPath, fmt.Sprintf("the path has %d bytes; at most %d are accepted", len(long), maxPath), "use a shorter one")
	}
	clean := path.Clean(filepath.ToSlash(name))
	if filepath.IsAbs(name) {
		inside, ok := w.cut(clean)
		if !ok {
			return bad(ErrEscape, "the path is outside the workspace", "use a path relative to the workspace")
		}
		clean = inside
	}
	if runtime.GOOS == "windows" && strings.Contains(clean, ":") {
		return bad(ErrInvalidPath, "a colon names a drive or a hidden stream", "remove it")
	}
	if !filepath.IsLocal(filepath.FromSlash(clean)) { // "..", and on Windows reserved names and rooted paths
		return bad(ErrEscape, "the path is outside the workspace", "use a path inside it")
	}
	if depth := strings.Count(clean, "/") + 1; depth > maxDepth {
		name = strings.ToValidUTF8(name[:shownPath], "") + "…"
		return bad(ErrInvalidPath, fmt.Sprintf("the path has %d parts; at most %d are accepted", depth, maxDepth), "use a shorter one")
	}
	return clean, nil
}

// cut removes the root from an absolute, clean slash path, component by component: /w/project-evil is not in /w/project.
func (w *Workspace) cut(abs string) (string, bool) {
	have := strings.Split(abs, "/")
	for _, s := range w.spellings {
		want := strings.Split(strings.TrimSuffix(s, "/"), "/")
		if len(have) < len(want) {
			continue
		}
		same := true
		for i := range want {
			if have[i] != want[i] && !(w.fold && strings.EqualFold(have[i], want[i])) {
				same = false
				break
			}
		}
		if same {
			return path.Clean(strings.Join(have[len(want):], "/")), true
		}
	}
	return "", false
}

// below is cut for the target of a link, in which a ".." behind another link leads to the parent of what that one leads to:
// it is kept for follow to walk, where cleaning the text would find another file than the system does.
func (w *Workspace) below(target string) (string, bool) {
	for _, s := range w.spellings {
		if rest, ok := strings.CutPrefix(target, strings.TrimSuffix(s, "/")+"/"); ok && rest != ".." && !strings.HasPrefix(rest, "../") {
			return rest, true
		}
	}
	return w.cut(path.Clean(target))
}

// follow resolves every link of a clean relative path, the last one too, and returns a path without links. What does not
// exist yet is kept as written. The result is a name for os.Root, not a permission: the tree may have changed by then.
func (w *Workspace) follow(rel string) (real string, err error) {
	var done []string
	todo := strings.Split(rel, "/")
	for links := 0; len(todo) > 0; {
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..": // only from link targets; done has no links in it, so its parent is the last but one
			if len(done) == 0 {
				return "", errEscapes
			}
			done = done[:len(done)-1]
			continue
		}
		here := strings.Join(append(done, c), "/")
		st, err := w.root.Lstat(here)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			rest := path.Join(append([]string{here}, todo...)...)
			if rest == ".." || strings.HasPrefix(rest, "../") {
				return "", errEscapes
			}
			return rest, nil
		case err != nil:
			return "", err
		case st.Mode()&fs.ModeSymlink == 0:
			if done = append(done, c); len(done) > maxDepth { // by links
				return "", syscall.ENAMETOOLONG
			}
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		target, err := w.root.Readlink(here)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			inside, ok := w.below(filepath.ToSlash(target))
			if !ok {
				return "", errEscapes
			}
			done, target = nil, inside
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

var errEscapes = errors.New("path escapes from parent")

// locate is rel and follow together.
func (w *Workspace) locate(op, name string) (string, error) {
	rel, err := w.rel(op, name)
	if err != nil {
		return "", err
	}
	real, err := w.follow(rel)
	return real, describe(op, name, err)
}

// Clean returns the slash path below the root that name spells, "." being the root itself, without asking the disk.
func (w *Workspace) Clean(name string) (string, error) { return w.rel("resolve", name) }

// Resolve returns the slash path below the root of what name leads to, with every link resolved. A part that does not exist
// yet is kept as written, so a file can be judged before it is made.
func (w *Workspace) Resolve(name string) (string, error) { return w.locate("resolve", name) }
