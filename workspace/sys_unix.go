//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// openNoWait: a pipe opens at once instead of waiting for a writer, and a terminal does not become ours.
const openNoWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

// identity tells one file from another on this machine and how many names it has.
func identity(_ *os.Root, _ string, st fs.FileInfo) (dev, ino, names uint64, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0, false
	}
	return uint64(sys.Dev), uint64(sys.Ino), uint64(sys.Nlink), true
}

// keepOwner gives f the owner and group of old, as far as this process may, and returns the permissions it should get: if
// the group cannot be kept, the new group gets no more than others have, or a file of one group would open to another.
func keepOwner(f *os.File, old fs.FileInfo) fs.FileMode {
	perm := old.Mode().Perm()
	was, ok := old.Sys().(*syscall.Stat_t)
	st, err := f.Stat()
	if !ok || err != nil {
		return perm
	}
	is, ok := st.Sys().(*syscall.Stat_t)
	if !ok || (is.Uid == was.Uid && is.Gid == was.Gid) {
		return perm
	}
	if f.Chown(int(was.Uid), int(was.Gid)) == nil || f.Chown(-1, int(was.Gid)) == nil {
		return perm
	}
	return groupLikeOthers(perm)
}

func groupLikeOthers(perm fs.FileMode) fs.FileMode { return perm&^0o070 | perm&0o007<<3 }
