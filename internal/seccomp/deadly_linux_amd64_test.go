package seccomp

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deadly are acts that end a process under a filter, by name. Each returns what the
// kernel answers without one.
var deadly = map[string]func() int{
	// getpid of x32: kernels without it say ENOSYS, after the filter has seen it.
	"x32": func() int { return int(call6(0x4000_0000 | unix.SYS_GETPID)) },
	// getpid of 32-bit programs. Where the kernel or the processor does not take it,
	// the process ends by SIGSEGV before a filter sees anything.
	"int80": func() int {
		code := []byte{
			0xb8, 20, 0, 0, 0, // mov eax, 20
			0xcd, 0x80, // int 0x80
			0xa3, 0, 0, 0, 0, 0, 0, 0, 0, // mov [result], eax
			0xc3, // ret
		}
		page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(err)
		}
		copy(page, code)
		result := (*int32)(unsafe.Pointer(&page[64]))
		*(*uintptr)(unsafe.Pointer(&page[8])) = uintptr(unsafe.Pointer(result))
		// A func is a pointer to a pointer to its code.
		entry := &page[0]
		target := &entry
		(*(*func())(unsafe.Pointer(&target)))()
		if int(*result) != os.Getpid() {
			panic("getpid of 32-bit programs gave another number")
		}
		return 0
	},
}
