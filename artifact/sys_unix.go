//go:build unix

package artifact

import "syscall"

const (
	openNoWait        = syscall.O_NONBLOCK // a pipe put there opens at once
	closeBeforeRename = false              // the lock holds until the file has its name
)
