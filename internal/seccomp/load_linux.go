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
// The thread must have set no_new_privs (EACCES says that it has not, see prctl(2)),
// root too: otherwise a program with the setuid bit could be led astray by the
// errors of the filter. Errors wrap the kernel's errno.
func Load(filter []unix.SockFilter) error {
	if len(filter) == 0 || len(filter) > unix.BPF_MAXINSNS {
		return fmt.Errorf("seccomp: a filter of %d instructions: %w", len(filter), unix.EINVAL)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return fmt.Errorf("seccomp: load the filter: %w", e)
	}
	return nil
}
