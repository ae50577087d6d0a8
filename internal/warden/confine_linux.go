package warden

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/callgate/callgate/internal/seccomp"
)

// restrict gives up, for the calling thread and all that it starts, what the plan does
// not grant. It cannot be undone: the thread is good for starting the process and
// nothing else.
func restrict(p *Plan) error {
	if err := dropCapabilities(); err != nil {
		return &stageError{"capabilities", err}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &stageError{"no_new_privs", err}
	}
	if err := landlocked(p); err != nil {
		return &stageError{"Landlock", err}
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return &stageError{"capabilities", err}
	}
	if err := filtered(p); err != nil {
		return &stageError{"seccomp", err}
	}
	return nil
}

// filtered puts the thread under the filter of system calls of the plan.
func filtered(p *Plan) error {
	rules := seccomp.Isolated()
	if !p.Isolated {
		rules = seccomp.Confined(p.FullNet)
	}
	arch, err := seccomp.Native()
	if err != nil {
		return err
	}
	filter, err := rules.Filter(arch)
	if err != nil {
		return err
	}
	return seccomp.Load(filter)
}

// dropCapabilities empties the bounding set, as far as there is one to empty: a program
// of root's would get all that is in it.
func dropCapabilities() error {
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	for c := uintptr(0); c <= 63; c++ {
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); {
		case errors.Is(err, unix.EINVAL):
			return nil // past the last one
		case errors.Is(err, unix.EPERM) && unix.Getuid() != 0:
			return nil // who has no capability gets none by executing, with no_new_privs
		case err != nil:
			return err
		}
	}
	return nil
}

// An allowance is what Landlock shall allow below some paths.
type allowance struct{ roDirs, roFiles, rwDirs, rwFiles []string }

func (a *allowance) add(name string, dir, write bool) {
	switch {
	case dir && write:
		a.rwDirs = append(a.rwDirs, name)
	case dir:
		a.roDirs = append(a.roDirs, name)
	case write:
		a.rwFiles = append(a.rwFiles, name)
	default:
		a.roFiles = append(a.roFiles, name)
	}
}

// allowed is what the places of a plan come to in Landlock, which can only allow, and
// what it allows it allows for all below. Where something below a directory is hidden,
// its other entries are allowed one by one.
func allowed(p *Plan, list func(dir string) []os.DirEntry) (a allowance) {
	if p.Isolated { // what is hidden is not there
		a.roDirs = []string{"/"}
		for _, pl := range p.Places {
			if pl.Access == Writable || pl.Access == Private {
				a.add(string(pl.Path), pl.Dir, true)
			}
		}
		return a
	}
	at := map[string]Place{}
	hides, opens := map[string]bool{}, map[string]bool{} // what lies above a place that is hidden, or is not
	for _, pl := range p.Places {
		at[string(pl.Path)] = pl
		above := opens
		if pl.Access == Hidden || pl.Access == Private {
			above = hides
		}
		for up := string(pl.Path); up != "/"; {
			up = dirOf(up)
			above[up] = true
		}
	}
	var walk func(name string, dir bool, access Access)
	walk = func(name string, dir bool, access Access) {
		if pl, ok := at[name]; ok {
			access = pl.Access
		}
		shut := access == Hidden || access == Private
		switch {
		case !shut && (!hides[name] || access == Writable):
			a.add(name, dir, access == Writable)
			if !opens[name] {
				return
			}
		case shut && !opens[name] || !dir:
			return
		}
		// For what is shut only the way to its open places matters, and of what is open
		// already only those that are open wider.
		for _, e := range list(name) {
			p := strings.TrimSuffix(name, "/") + "/" + e.Name()
			_, is := at[p]
			if shut || !hides[name] || access == Writable {
				if !is && !opens[p] {
					continue
				}
			}
			if e.Type()&os.ModeSymlink == 0 {
				walk(p, e.IsDir(), access)
			}
		}
	}
	walk("/", true, Readable)
	return a
}

func readDir(dir string) []os.DirEntry {
	entries, _ := os.ReadDir(dir)
	return entries
}

// startRestricted starts a program from a thread of its own, which gave up what the
// plan does not grant. The thread stays as long as this process: the kernel kills the
// program when the thread that started it ends (PR_SET_PDEATHSIG).
func startRestricted(p *Plan, start func() (int, error)) (pid int, err error) {
	type started struct {
		pid int
		err error
	}
	done := make(chan started)
	onOtherThread(func() {
		s := started{err: restrict(p)}
		if s.err == nil {
			s.pid, s.err = start()
		}
		done <- s
	})
	s := <-done
	return s.pid, s.err
}

// onOtherThread runs f on a thread that is not the first of this process, and is never
// used again. Landlock lets a process signal what has its restrictions, and looks at the
// first thread of what is signaled: were that one restricted, the process could kill us.
func onOtherThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onOtherThread(f)
		} else {
			f()
		}
		select {}
	}()
}

// limit sets what the kernel counts for each process or user.
func limit(p *Plan) error {
	for _, l := range []struct {
		what int
		max  uint64
	}{
		{unix.RLIMIT_FSIZE, uint64(p.FileSize)},
		{unix.RLIMIT_NPROC, uint64(p.Processes)},
	} {
		if l.what == unix.RLIMIT_NPROC && !p.Isolated {
			continue // it counts all processes of the user, not only ours
		}
		if err := setLimit(l.what, l.max); err != nil {
			return &stageError{"limits", err}
		}
	}
	return nil
}

// setLimit lowers a limit of this process, and for good.
func setLimit(what int, value uint64) error {
	var have unix.Rlimit
	if err := unix.Getrlimit(what, &have); err != nil {
		return err
	}
	value = min(value, have.Max)
	return unix.Setrlimit(what, &unix.Rlimit{Cur: value, Max: value})
}

// limitMemory bounds the address space of a process that has just been started, for
// want of a cgroup.
func limitMemory(pid int, bytes int64) error {
	l := unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	err := unix.Prlimit(pid, unix.RLIMIT_AS, &l, nil)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
