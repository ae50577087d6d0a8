//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes the exclusive lock of f if it is free, without waiting. The file must be open for writing: some network file
// systems refuse otherwise.
func Try(f *os.File) State { return lock(f, syscall.LOCK_EX) }

// Look tells what Try would, and leaves the lock to others: Held means that nobody has it. It has a shared lock for that
// moment, so those who look do not see each other, but whoever tries meanwhile is told Busy. The file may be open for
// reading only.
func Look(f *os.File) State {
	state := lock(f, syscall.LOCK_SH)
	if state == Held {
		lock(f, syscall.LOCK_UN)
	}
	return state
}

func lock(f *os.File, how int) State {
	c, err := f.SyscallConn() // not f.Fd(), which would switch the file to blocking mode
	if err != nil {
		return Unknown
	}
	var lockErr error
	if err := c.Control(func(fd uintptr) {
		for {
			if lockErr = syscall.Flock(int(fd), how|syscall.LOCK_NB); lockErr != syscall.EINTR {
				return
			}
		}
	}); err != nil {
		return Unknown
	}
	switch {
	case lockErr == nil:
		return Held
	case errors.Is(lockErr, syscall.EWOULDBLOCK):
		return Busy
	}
	return Unknown
}

// Linked reports whether the open file still has a name. A cleaner may have removed it between its creation and Try.
func Linked(f *os.File) bool {
	st, err := f.Stat()
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return !ok || sys.Nlink > 0
}
