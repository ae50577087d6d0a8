package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of what a task brings along.
const (
	maxFile  = 16 << 20 // bytes of one file
	maxTree  = 64 << 20 // bytes of all files of a workspace
	maxNodes = 10_000   // files and directories of a workspace
)

// A tree is what a workspace starts with, in memory: by slash paths below it.
type tree map[string]node

// A node is a file or a directory.
type node struct {
	data []byte
	mode fs.FileMode // its type and permissions
}

// read adds what is below dir of root. Links and special files are errors: a copy
// of a link could lead anywhere.
func (t tree) read(root *os.Root, dir string) error {
	info, err := root.Stat(filepath.FromSlash(dir))
	if err != nil {
		return besideError(dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	size := 0
	dir = path.Clean(filepath.ToSlash(dir))
	return fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == dir {
			return nil
		}
		rel := name
		if dir != "." {
			rel = strings.TrimPrefix(name, dir+"/")
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{mode: info.Mode()}
		switch {
		case info.IsDir():
		case info.Mode().IsRegular():
			if n.data, err = beside(root, name); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is neither a file nor a directory; links are not copied", name)
		}
		if size += len(n.data); size > maxTree {
			return fmt.Errorf("%s has more than %d bytes", dir, maxTree)
		}
		if len(t) >= maxNodes {
			return fmt.Errorf("%s has more than %d files", dir, maxNodes)
		}
		return t.add(rel, n)
	})
}

// add adds a node, instead of one of the same name.
func (t tree) add(name string, n node) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." || strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("%q is no name for a file in the workspace: it is relative to it, with slashes, and as short as can be", name)
	}
	t[name] = n
	return nil
}

// consistent checks that no file is where another one needs a directory.
func (t tree) consistent() error {
	for _, name := range t.names() {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if n, ok := t[dir]; ok && !n.mode.IsDir() {
				return fmt.Errorf("%s is a file, so %s cannot be below it", dir, name)
			}
		}
	}
	return nil
}

func (t tree) names() []string {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// write makes the tree in dir, which it creates. Of the permissions the executable
// bits are kept.
func (t tree) write(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for _, name := range t.names() {
		n, file := t[name], filepath.Join(dir, filepath.FromSlash(name))
		if n.mode.IsDir() {
			if err := os.MkdirAll(file, 0o777); err != nil {
				return err
			}
			continue
		}
		mode := fs.FileMode(0o666)
		if n.mode&0o111 != 0 {
			mode = 0o777
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, n.data, mode)); err != nil {
			return err
		}
	}
	return nil
}
