package warden

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes of mounts. Nothing in a sandbox runs with the rights of a file's owner, and
// no file is a device but those that we put into /dev.
const (
	mountView  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	mountWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// A stageError is a step of setting up a sandbox that failed.
type stageError struct {
	stage string
	err   error
}

func (e *stageError) Error() string { return e.stage + ": " + e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// A view is the file system of a process while it is built. It is built by file
// descriptors, below one for the new root: a name that a process of another call
// turns into a link meanwhile leads nowhere.
type view struct {
	root int
	err  error // the first one; nothing happens after it
}

// do runs a step unless one has failed.
func (v *view) do(stage string, step func() error) {
	if v.err != nil {
		return
	}
	if err := step(); err != nil {
		v.err = &stageError{stage, err}
	}
}

// take returns a copy of the mounts at an absolute path without links, still
// detached.
func (v *view) take(name string) (tree int) {
	tree = -1
	v.do("open "+name, func() error {
		fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		tree, err = openTree(fd)
		return err
	})
	return tree
}

func openTree(fd int) (int, error) {
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	return tree, nil
}

// clone returns another copy of detached mounts.
func (v *view) clone(tree int) (other int) {
	other = -1
	v.do("copy a mount", func() (err error) {
		other, err = openTree(tree)
		return err
	})
	return other
}

// attributes adds attributes to a mount.
func (v *view) attributes(fd int, set uint64, flags uint) {
	v.do("mount_setattr", func() error {
		return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|flags, &unix.MountAttr{Attr_set: set})
	})
}

// move puts a detached mount over what to is open for.
func (v *view) move(tree, to int, what string) {
	v.do("mount "+what, func() error {
		return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	})
}

// open opens a path below dir without following any link.
func open(dir int, name string, flags uint64) (int, error) {
	name = strings.TrimPrefix(name, "/")
	if name == "" {
		name = "."
	}
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// target returns a descriptor of what a mount shall cover, and makes it where an
// empty directory hides its place.
func (v *view) target(name string, dir bool) (fd int) {
	fd = -1
	v.do("find "+name, func() (err error) {
		fd, err = open(v.root, name, unix.O_PATH)
		if !errors.Is(err, unix.ENOENT) {
			return err
		}
		if fd, err = v.directories(dirOf(name)); err != nil {
			return err
		}
		up := fd
		defer unix.Close(up)
		if dir {
			err = unix.Mkdirat(up, baseOf(name), 0o755)
		} else {
			var f int
			if f, err = unix.Openat(up, baseOf(name), unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_WRONLY, 0o444); err == nil {
				unix.Close(f)
			}
		}
		if err != nil {
			return err
		}
		fd, err = open(up, baseOf(name), unix.O_PATH)
		return err
	})
	return fd
}

// directories opens a directory of the new root, and makes it if need be.
func (v *view) directories(name string) (int, error) {
	fd, err := open(v.root, name, unix.O_PATH|unix.O_DIRECTORY)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	up, err := v.directories(dirOf(name))
	if err != nil {
		return -1, err
	}
	defer unix.Close(up)
	if err := unix.Mkdirat(up, baseOf(name), 0o755); err != nil {
		return -1, err
	}
	return open(up, baseOf(name), unix.O_PATH|unix.O_DIRECTORY)
}

// dirOf and baseOf split a clean absolute path. Package path would do that, too, and is
// initialized late (see the package's documentation).
func dirOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return name[:i]
	}
	return "/"
}

func baseOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// empty returns an empty file system in memory, detached. A quarter of the memory is
// the most that it holds: a process has up to three of them that it can write (/tmp,
// /var/tmp, /dev/shm), and what lies there is not given back when the kernel, out of
// memory, kills processes.
func (v *view) empty(mode string) (fd int) {
	fd = -1
	v.do("tmpfs", func() (err error) {
		fd, err = newMount("tmpfs", map[string]string{"mode": mode, "size": "25%", "nr_inodes": "1000000"}, mountWrite)
		return err
	})
	return fd
}

func newMount(kind string, options map[string]string, attributes int) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("fsopen: %w", err)
	}
	defer unix.Close(fs)
	for k, val := range options {
		if err := unix.FsconfigSetString(fs, k, val); err != nil {
			return -1, fmt.Errorf("%s=%s: %w", k, val, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("fsconfig: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return -1, fmt.Errorf("fsmount: %w", err)
	}
	return fd, nil
}
