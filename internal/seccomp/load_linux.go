package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Load puts the calling thread, and all threads and processes that it starts, under
// the filter, on top of what it is under already. The other threads of the program
// stay as they are. Lock the goroutine to its thread before, and never unlock it,
// so that the thread ends with it.
//
// The thread must have set no_new_privs, see prctl(2): otherwise a program with the
// setuid bit could be led astray by the errors of the filter. EACCES says that it
// has not, to root too, whom the kernel would let. Errors wrap an errno.
func Load(filter []unix.SockFilter) error {
	if len(filter) == 0 || len(filter) > unix.BPF_MAXINSNS {
		return fmt.Errorf("seccomp: a filter of %d instructions: %w", len(filter), unix.EINVAL)
	}
	set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && set != 1 {
		err = unix.EACCES
	}
	if err != nil {
		return fmt.Errorf("seccomp: load the filter: no_new_privs is not set on this thread: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return fmt.Errorf("seccomp: load the filter: %w", e)
	}
	return nil
}
