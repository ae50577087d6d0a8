package warden

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func (c *Cgroup) dir() string { return string(c.Up) + "/" + c.Name }

// optional are settings that a kernel may not have.
var optional = []string{"memory.swap.max", "memory.memsw.limit_in_bytes"}

// A membership is a group that the helper has joined.
type membership struct {
	up, home int // directory and cgroup.procs of where it was, open since before the view changed
	name     string
}

// join makes a group and joins it.
func (c *Cgroup) join() (m membership, err error) {
	m = membership{up: -1, home: -1, name: c.Name}
	fail := func(err error) (membership, error) {
		m.leave()
		return m, &stageError{"cgroup " + c.dir(), err}
	}
	if m.up, err = unix.Open(string(c.Up), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fail(err)
	}
	if m.home, err = unix.Open(string(c.Home)+"/cgroup.procs", unix.O_WRONLY|unix.O_CLOEXEC, 0); err != nil {
		return fail(err)
	}
	if err := unix.Mkdirat(m.up, c.Name, 0o755); err != nil {
		return fail(err)
	}
	for _, s := range append(c.Files, Setting{"cgroup.procs", "0"}) {
		fd, err := unix.Openat(m.up, c.Name+"/"+s.File, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte(s.Value))
			unix.Close(fd)
		}
		if err != nil && !slices.Contains(optional, s.File) {
			return fail(err)
		}
	}
	return m, nil
}

// leave goes back and removes the group. It does nothing where the caller has done so.
func (m membership) leave() {
	if m.home >= 0 {
		unix.Write(m.home, []byte("0"))
		unix.Close(m.home)
	}
	if m.up >= 0 {
		unix.Unlinkat(m.up, m.name, unix.AT_REMOVEDIR)
		unix.Close(m.up)
	}
}

// A Usage is what a group has seen.
type Usage struct{ OutOfMemory, OutOfProcesses bool }

// Used tells what the group has seen: for the caller of a warden that was killed, which
// else tells it itself.
func (c *Cgroup) Used() Usage {
	up, err := unix.Open(string(c.Up), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Usage{}
	}
	defer unix.Close(up)
	return usage(up, c.Name)
}

func (m membership) used() Usage { return usage(m.up, m.name) }

func usage(up int, name string) Usage {
	return Usage{
		OutOfProcesses: counter(up, name+"/pids.events", "max") > 0,
		OutOfMemory:    counter(up, name+"/memory.events", "oom_kill") > 0 || counter(up, name+"/memory.oom_control", "oom_kill") > 0,
	}
}

// counter returns a number of a file of names and numbers, 0 if there is none.
func counter(up int, name, key string) int {
	fd, err := unix.Openat(up, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	b := make([]byte, 4<<10)
	n, err := unix.Read(fd, b)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b[:n])) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// Kill kills what is in the group, and returns how many are left after KillTime. What
// is in it cannot leave: it cannot write the files of groups.
func (c *Cgroup) Kill() (left int) {
	for begin := time.Now(); ; {
		b, _ := os.ReadFile(c.dir() + "/cgroup.procs")
		pids := strings.Fields(string(b))
		since := time.Since(begin)
		if len(pids) == 0 || since > KillTime {
			return len(pids)
		}
		for _, f := range pids {
			if pid, err := strconv.Atoi(f); err == nil && pid > 1 && pid != os.Getpid() {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		time.Sleep(min(since/4, 20*time.Millisecond))
	}
}

// Remove removes the group.
func (c *Cgroup) Remove() { unix.Rmdir(c.dir()) }
