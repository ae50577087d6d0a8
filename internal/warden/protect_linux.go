package warden

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// movable returns the directories between a place and the writable one that it lies in,
// from the top. The process could rename them with all that is mounted below, and the
// next process would find nothing to hide or to protect.
func (p *Plan) movable(name string) (dirs []string) {
	over := p.around(name)
	if over.Access != Writable {
		return nil
	}
	for i := len(strings.TrimSuffix(string(over.Path), "/")) + 1; i < len(name); i++ {
		if name[i] == '/' {
			dirs = append(dirs, name[:i])
		}
	}
	return dirs
}

// around returns the place that a path lies in, other than one of its own.
func (p *Plan) around(name string) Place {
	over := Place{Path: "/", Access: Readable}
	for _, pl := range p.Places { // what contains comes first
		if string(pl.Path) != name && (pl.Path == "/" || strings.HasPrefix(name, string(pl.Path)+"/")) {
			over = pl
		}
	}
	return over
}

// gone reports whether a place that was to be hidden does not exist any more, such as
// the socket of a service that ended. Where the process can write, that is no reason to
// let it be.
func (v *view) gone(p *Plan, pl Place) bool {
	if v.err != nil || pl.Access != Hidden || p.around(string(pl.Path)).Access == Writable || p.opens(string(pl.Path)) {
		return false
	}
	fd, err := open(v.root, string(pl.Path), unix.O_PATH|unix.O_NOFOLLOW)
	if err == nil {
		unix.Close(fd)
	}
	return errors.Is(err, unix.ENOENT)
}

// pin makes directories mounts of their own, as writable as they are: what is a mount can
// neither be renamed nor removed.
func (v *view) pin(dirs []string, pinned map[string]bool) {
	for _, name := range dirs {
		if pinned[name] {
			continue
		}
		pinned[name] = true
		v.do("pin "+name, func() error {
			fd, err := open(v.root, name, unix.O_PATH|unix.O_DIRECTORY)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			tree, err := openTree(fd)
			if err != nil {
				return err
			}
			defer unix.Close(tree)
			v.move(tree, fd, name)
			return nil
		})
	}
}

// protect makes paths of the workspace read-only, and their ancestors fast: what is a
// mount can neither be renamed nor removed.
func (v *view) protect(workspace string, paths []Path, readOnly bool) {
	if readOnly || len(paths) == 0 {
		return
	}
	ws := v.target(workspace, true)
	if v.err != nil {
		return
	}
	defer unix.Close(ws)
	pinned := map[string]bool{}
	for _, p := range paths {
		parts := strings.Split(string(p), "/")
		for i := range parts {
			name := strings.Join(parts[:i+1], "/")
			last := i == len(parts)-1
			if pinned[name] && !last {
				continue
			}
			fd, err := open(ws, name, unix.O_PATH|unix.O_NOFOLLOW)
			// A link is pinned as it is; what it leads to is the plan's. A file named .git says
			// where the repository is.
			file := err == nil && !last && !isDir(fd)
			if up, hooks := strings.CutSuffix(name, "/hooks"); errors.Is(err, unix.ENOENT) && last && hooks && isRepository(ws, up) {
				// Who could make the directory could fill it.
				if err = mkdirBelow(ws, up, "hooks"); err == nil {
					fd, err = open(ws, name, unix.O_PATH)
				}
			}
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
				break // there is nothing; or a link, of which the plan has the end
			}
			v.do("protect "+name, func() error { return err })
			if v.err != nil {
				return
			}
			v.do("protect "+name, func() error {
				tree, err := openTree(fd)
				if err != nil {
					return err
				}
				defer unix.Close(tree)
				if last || file {
					v.attributes(tree, mountView, unix.AT_RECURSIVE)
				}
				v.move(tree, fd, name)
				return nil
			})
			unix.Close(fd)
			if pinned[name] = true; file {
				break
			}
		}
	}
}

// isRepository reports whether a directory has what git looks for in one.
func isRepository(ws int, name string) bool {
	fd, err := open(ws, name+"/HEAD", unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

func isDir(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func mkdirBelow(dir int, up, name string) error {
	fd, err := open(dir, up, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Mkdirat(fd, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return unix.ENOENT // on a file system that takes nothing it takes nothing from the process either
	}
	return nil
}
