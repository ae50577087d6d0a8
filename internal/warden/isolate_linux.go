package warden

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes of mounts. Nothing in a sandbox runs with the rights of a file's owner, and
// no file is a device but those that we put into /dev.
const (
	mountView  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	mountWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// devices are what a process finds in /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// maskedProc are files of /proc that tell of the machine, or act on it.
var maskedProc = []string{"kcore", "kmsg", "keys", "key-users", "timer_list", "sysrq-trigger", "kallsyms", "kpagecount", "kpageflags", "kpagecgroup"}

// A stage is a step of setting up a sandbox that failed.
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

// dev makes a /dev with the harmless devices alone.
func (v *view) dev(devs []int) {
	to := v.target("/dev", true)
	tree := v.emptyDevices()
	v.move(tree, to, "/dev")
	unix.Close(to)
	for i, d := range devices {
		to := v.target("/dev/"+d, false)
		v.attributes(devs[i], unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, 0)
		v.move(devs[i], to, "/dev/"+d)
		unix.Close(to)
	}
	to = v.target("/dev/shm", true)
	shm := v.empty("1777")
	v.move(shm, to, "/dev/shm")
	unix.Close(shm)
	unix.Close(to)
	to = v.target("/dev/pts", true)
	v.do("devpts", func() error {
		pts, err := newMount("devpts", map[string]string{"ptmxmode": "0666", "mode": "0620"}, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(pts)
		v.move(pts, to, "/dev/pts")
		return nil
	})
	unix.Close(to)
	v.do("links in /dev", func() error {
		dev, err := open(v.root, "/dev", unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(dev)
		for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
			if err := unix.Symlinkat(to, dev, name); err != nil {
				return err
			}
		}
		return nil
	})
	if v.err == nil {
		v.attributes(tree, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, 0)
		unix.Close(tree)
	}
}

func (v *view) emptyDevices() (fd int) {
	fd = -1
	v.do("tmpfs", func() (err error) {
		fd, err = newMount("tmpfs", map[string]string{"mode": "755", "size": "64k"}, unix.MOUNT_ATTR_NOSUID)
		return err
	})
	return fd
}

// resolver has names looked up by our own server, in this network namespace.
func (v *view) resolver(name string) {
	to := v.target(name, false)
	v.do("resolv.conf", func() error {
		tree := v.empty("755")
		if v.err != nil {
			return v.err
		}
		defer unix.Close(tree)
		f, err := unix.Openat(tree, "resolv.conf", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
		if err != nil {
			return err
		}
		unix.Write(f, []byte("nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"))
		unix.Close(f)
		// A file can be a mount only of a file system that is itself mounted.
		at := v.target("/dev", true)
		defer unix.Close(at)
		v.move(tree, at, "resolv.conf")
		file, err := open(tree, "resolv.conf", unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(file)
		one, err := openTree(file)
		if err != nil {
			return err
		}
		defer unix.Close(one)
		v.attributes(one, mountView, 0)
		v.move(one, to, name)
		return unix.Unmount("/proc/self/fd/"+strconv.Itoa(tree), unix.MNT_DETACH)
	})
	unix.Close(to)
}

// proc mounts a /proc of this namespace of pids, and forbids namespaces of users below
// ours by the kernel's own count of them.
func (v *view) proc(null int) {
	to := v.target("/proc", true)
	v.do("proc", func() error {
		tree, err := newMount("proc", nil, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		v.move(tree, to, "/proc")
		if v.err != nil {
			return v.err
		}
		if f, err := unix.Openat(tree, "sys/user/max_user_namespaces", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			unix.Write(f, []byte("0"))
			unix.Close(f)
		}
		for _, name := range maskedProc {
			fd, err := open(tree, name, unix.O_PATH)
			if err != nil {
				continue
			}
			mask := v.clone(null)
			v.move(mask, fd, "/proc/"+name)
			unix.Close(mask)
			unix.Close(fd)
		}
		// root outside is root for /proc/sys, whatever namespace it is in and without any
		// capability: core_pattern would be a way out.
		v.attributes(tree, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, 0)
		return nil
	})
	unix.Close(to)
}

// loopback brings up the loopback of a new network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return &stageError{"loopback", err}
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return &stageError{"loopback", err}
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return &stageError{"loopback", err}
	}
	// getaddrinfo with AI_ADDRCONFIG takes a machine whose only address is 127.0.0.1 for
	// one without IPv4.
	if alias, err := unix.NewIfreq("lo:1"); err == nil && alias.SetInet4Addr([]byte{127, 1, 255, 254}) == nil {
		unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias)
	}
	runtime.KeepAlive(ifr)
	return nil
}
