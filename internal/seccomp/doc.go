// Package seccomp makes and loads filters of system calls for Linux on amd64 and
// arm64. On other systems the package is empty.
//
// # Trust model
//
// The filter is one wall of several. It takes from a process what namespaces and
// Landlock do not: system calls that reach around them, wide parts of the kernel
// that ordinary programs never need, and kinds of sockets. Whatever no rule names
// is allowed, so that programs work and new system calls of new kernels pass
// unseen. A program of another architecture (32 bits, x32) is killed at its first
// system call: its numbers mean other calls.
//
// What a filter cannot see is what an argument points at: paths, addresses, the
// structures of clone3 and openat2. These two calls are answered with ENOSYS, which
// sends programs to the older call that can be seen. An address that is connected
// to, and a file that is opened, are for Landlock and namespaces to judge.
//
// A filter is inherited by all that the thread starts, and nothing takes it off.
// What the process adds itself can only forbid more: the kernel takes the gravest
// verdict of all filters.
//
// See seccomp(2) and Documentation/userspace-api/seccomp_filter.rst of the kernel.
package seccomp
