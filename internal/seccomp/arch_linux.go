package seccomp

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// An Arch is an architecture that there are rules for: [AMD64] or [ARM64].
type Arch struct {
	name   string
	audit  uint32 // AUDIT_ARCH_*
	number func(call) int
	x32    bool // the kernel may have a second set of numbers, with bit 30 set
}

// The architectures. Their filters can be made on each other, and loaded on their
// own only.
var (
	AMD64 = Arch{"amd64", unix.AUDIT_ARCH_X86_64, func(c call) int { return c.amd64 }, true}
	ARM64 = Arch{"arm64", unix.AUDIT_ARCH_AARCH64, func(c call) int { return c.arm64 }, false}
)

// Native returns the architecture that this program was built for. It fails on
// those that there are no rules for.
func Native() (Arch, error) {
	for _, a := range []Arch{AMD64, ARM64} {
		if a.name == runtime.GOARCH {
			return a, nil
		}
	}
	return Arch{}, fmt.Errorf("seccomp: there are no rules for the architecture %s; the sandbox needs amd64 or arm64", runtime.GOARCH)
}

// String returns the name of the architecture, as GOARCH has it.
func (a Arch) String() string { return a.name }
