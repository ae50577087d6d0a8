//go:build unix

package journal

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that this process has used, in user mode and in
// the kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
