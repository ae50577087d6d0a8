package main

import "golang.org/x/sys/unix"

// int80 makes a call of the 32-bit table.
func int80(nr uint32) uint32

func portCalls() {
	allowed("ioperm", call(unix.SYS_IOPERM, 0x80, 1, 1))
	allowed("iopl", call(unix.SYS_IOPL, 0))
}
