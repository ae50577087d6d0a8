// Probe does one act that a sandbox should refuse, or watches for one from outside.
// The cases of this suite run it. It says "DID ..." of what succeeded and "tried ..."
// of what was refused; what it does when nothing refuses it is harmless.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

var acts = map[string]func(args []string){}

func main() {
	if len(os.Args) < 2 || acts[os.Args[1]] == nil {
		fmt.Println("bad usage: probe ACT [ARG...]")
		os.Exit(2)
	}
	acts[os.Args[1]](os.Args[2:])
}

// done says how a try came out.
func done(what string, err error) {
	if err == nil {
		fmt.Println("DID", what)
		return
	}
	fmt.Println("tried", what+":", err)
}

// allowed says that a call was let through when its error is none of those of a
// refusal: the arguments were wrong on purpose.
func allowed(what string, errno syscall.Errno) {
	if slices.Contains([]syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.EAFNOSUPPORT}, errno) {
		fmt.Println("tried", what+":", errno)
		return
	}
	fmt.Println("DID", what, errno)
}

func call(nr uintptr, args ...uintptr) syscall.Errno {
	a := append(args, 0, 0, 0, 0, 0, 0)
	_, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

func fatal(err error) {
	if err != nil {
		fmt.Println("bad", err)
		os.Exit(2)
	}
}

func init() {
	// openr, openw PATH...: opens each, for reading or for writing without O_TRUNC,
	// which changes nothing. Paths that do not exist are left out.
	open := func(how string, flag int) {
		acts[how] = func(paths []string) {
			for _, path := range paths {
				f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0)
				if errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(path, "/dev/") {
					continue
				}
				done(how+" "+path, err)
				f.Close()
			}
		}
	}
	open("openr", os.O_RDONLY)
	open("openw", os.O_WRONLY)
	open("openrw", os.O_RDWR)
}
