package warden

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock (landlock(7)) by its three system calls. The library for it sets all threads
// of a program, for which it needs another library, whose initialization comes late:
// what the warden links decides what each process costs.

// Rights on files, by the version of Landlock that knows them.
const (
	rightsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	rightsRefer    = unix.LANDLOCK_ACCESS_FS_REFER        // 2: move and link between directories
	rightsTruncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE     // 3
	rightsIoctl    = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV    // 5
	rightsResolve  = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // 9: connect to a named socket

	// rightsOfFiles are those that a rule for a file, not a directory, may name.
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | rightsTruncate | rightsIoctl
)

// MinLandlock is the version of Landlock from which on a file cannot be truncated
// without a right to write it. Without it nothing is confined.
const MinLandlock = 3

// LandlockVersion returns the version of the kernel's Landlock, 0 if it has none.
func LandlockVersion() int {
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(v)
}

// landlocked restricts the thread's files, signals and abstract sockets. Within
// namespaces it is a second wall, so that a kernel without it will do; without them
// it is the only one.
func landlocked(p *Plan) error {
	version := LandlockVersion()
	if version < MinLandlock {
		if p.Isolated {
			return nil
		}
		return errors.New("the kernel has no Landlock of version 3 (Linux 6.2) or later, or it is switched off (lsm= on its command line)")
	}
	handled := uint64(rightsRead | rightsWrite | rightsRefer | rightsTruncate)
	if version >= 5 {
		handled |= rightsIoctl
	}
	if version >= 9 {
		handled |= rightsResolve
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return fmt.Errorf("create a ruleset: %w", e)
	}
	defer unix.Close(int(fd))
	for _, r := range rules(p) {
		for _, name := range r.paths {
			if err := addRule(int(fd), name, r.rights&handled, r.dirs); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return fmt.Errorf("restrict: %w", e)
	}
	return nil
}

// addRule allows rights on a path and all below it. What is gone meanwhile needs none,
// and so does what is behind a link: the plan has paths without, and whoever may write to
// a directory above could have put one there since.
func addRule(ruleset int, name string, rights uint64, dir bool) error {
	flags := uint64(unix.O_PATH | unix.O_CLOEXEC)
	if dir {
		flags |= unix.O_DIRECTORY
	} else {
		rights &= rightsOfFiles
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// A rule is rights on some paths.
type rule struct {
	paths  []string
	rights uint64
	dirs   bool
}

func rules(p *Plan) []rule {
	a := allowed(p, readDir)
	devs := make([]string, len(devices))
	for i, d := range devices {
		devs[i] = "/dev/" + d
	}
	const write = rightsRead | rightsWrite | rightsRefer | rightsTruncate | rightsResolve
	out := []rule{
		{a.roDirs, rightsRead, true},
		{a.roFiles, rightsRead, false},
		{a.lists, unix.LANDLOCK_ACCESS_FS_READ_DIR, true},
		{a.rwDirs, write, true},
		{a.rwFiles, write, false},
		{devs, rightsRead | rightsWrite | rightsTruncate | rightsIoctl, false},
	}
	if p.Isolated { // of its own
		out = append(out,
			rule{[]string{"/dev/shm"}, write, true},
			rule{[]string{"/dev/pts"}, rightsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | rightsTruncate | rightsIoctl, true})
	}
	return out
}
