//go:build linux && !amd64

package seccomp

// deadly is empty: 64-bit ARM enters the 32-bit interface in 32-bit programs only.
var deadly = map[string]func() int{}
