// Package filelock asks the operating system whether the process that made a file is still alive: the maker holds an
// exclusive lock on it for as long as it works, and the kernel drops the lock when the process dies, however it dies.
// Unlike a process number in a name this also holds across PID namespaces and cannot be fooled by a reused number.
package filelock

// State is the answer of Try.
type State int

const (
	// Unknown means that this platform or file system has no such locks. Treat the file as somebody's.
	Unknown State = iota
	// Held means that the caller now owns the lock, until it closes the file.
	Held
	// Busy means that another open file, in this process or another one, owns the lock.
	Busy
)
