package warden

import (
	"strings"

	"golang.org/x/sys/unix"
)

// isolate builds the file system of the plan and makes it this process's. It needs
// namespaces of its own for users, mounts and pids.
func isolate(p *Plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &stageError{"mount namespace", err}
	}
	v := &view{root: -1}
	// All that comes from the old view is taken before the first thing is covered.
	sources := make([]int, len(p.Places))
	for i, pl := range p.Places {
		sources[i] = -1
		if pl.Access == Readable || pl.Access == Writable {
			sources[i] = v.take(string(pl.Path))
		}
	}
	devs := make([]int, len(devices))
	for i, d := range devices {
		devs[i] = v.take("/dev/" + d)
	}
	null := v.clone(devs[0])
	v.attributes(null, mountView, 0)
	v.root = v.take("/")
	v.attributes(v.root, mountView, unix.AT_RECURSIVE)
	// The place where the new root is mounted is covered by it, so any will do.
	v.do("new root", func() error {
		err := error(unix.ENOENT)
		for _, at := range []string{"/tmp", "/mnt", "/dev", "/var"} {
			if err = unix.MoveMount(v.root, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err == nil {
				return nil
			}
		}
		return err
	})
	sealed := v.places(p, sources, null)
	v.protect(string(p.Workspace), p.Protect, p.readOnly())
	v.dev(devs)
	if len(p.Listeners) > 0 && p.Resolv != "" {
		v.resolver(string(p.Resolv))
	}
	v.proc(null)
	for _, fd := range sealed {
		v.attributes(fd, mountView, 0)
		unix.Close(fd)
	}
	for _, fd := range append(devs, null) {
		unix.Close(fd)
	}
	v.do("pivot_root", func() error {
		if err := unix.Fchdir(v.root); err != nil {
			return err
		}
		if err := unix.PivotRoot(".", "."); err != nil {
			return err
		}
		if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
			return err
		}
		return unix.Chdir("/")
	})
	unix.Close(v.root)
	return v.err
}

func (p *Plan) readOnly() bool {
	for _, pl := range p.Places {
		if pl.Path == p.Workspace {
			return pl.Access != Writable
		}
	}
	return true
}

// places mounts the places of the plan. It returns the empty directories that are
// made read-only when all that has to be made in them is there.
func (v *view) places(p *Plan, sources []int, null int) (sealed []int) {
	nothing := -1 // one for all hidden directories in which nothing is shown again
	pinned := map[string]bool{}
	for i, pl := range p.Places {
		name := string(pl.Path)
		if name == "/" && pl.Access != Writable {
			continue // as it is already
		}
		if v.gone(p, pl) {
			continue
		}
		if pl.Access != Writable {
			v.pin(p.movable(name), pinned)
		}
		to := v.target(name, pl.Dir)
		tree := sources[i]
		seal := false
		switch {
		case pl.Access == Readable:
			v.attributes(tree, mountView, unix.AT_RECURSIVE)
		case pl.Access == Writable:
			v.attributes(tree, mountWrite, unix.AT_RECURSIVE)
		case pl.Access == Private && pl.Dir:
			tree = v.empty("1777")
		case !pl.Dir:
			tree = v.clone(null)
		case p.opens(name):
			tree, seal = v.empty("755"), true
		default:
			if nothing < 0 {
				nothing = v.empty("755")
				v.attributes(nothing, mountView, 0)
			}
			tree = v.clone(nothing)
		}
		v.move(tree, to, name)
		if seal {
			sealed = append(sealed, tree)
		} else {
			unix.Close(tree)
		}
		unix.Close(to)
	}
	if nothing >= 0 {
		unix.Close(nothing)
	}
	return sealed
}

// opens reports whether there are places, or what we put there ourselves, below a
// directory.
func (p *Plan) opens(dir string) bool {
	for _, pl := range p.Places {
		if strings.HasPrefix(string(pl.Path), dir+"/") {
			return true
		}
	}
	return strings.HasPrefix(string(p.Resolv), dir+"/")
}
