package warden

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// descendants returns the processes below this one that have not ended.
func descendants() (pids []int) {
	below := children
	if _, err := os.Stat("/proc/thread-self/children"); err != nil { // a kernel without CONFIG_PROC_CHILDREN
		below = byParent()
	}
	queue := below(os.Getpid())
	for len(queue) > 0 {
		pid := queue[0]
		queue = append(queue[1:], below(pid)...)
		if s, ok := stat(pid); ok && s.state != 'Z' && s.state != 'X' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// children returns the children of a process from the lists of its threads.
func children(pid int) (pids []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	for _, tid := range names(dir) {
		b, _ := os.ReadFile(dir + "/" + tid + "/children")
		for f := range bytes.FieldsSeq(b) {
			if n, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// byParent does what children does, from a look at all processes.
func byParent() func(pid int) []int {
	of := map[int][]int{}
	for _, pid := range processes() {
		if s, ok := stat(pid); ok {
			of[s.ppid] = append(of[s.ppid], pid)
		}
	}
	return func(pid int) []int { return of[pid] }
}

// A procStat is what we need of /proc/PID/stat (proc_pid_stat(5)).
type procStat struct {
	state               byte
	ppid, pgrp, session int
}

func stat(pid int) (s procStat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // a name can hold anything
	if len(f) < 4 {
		return s, false
	}
	s.state = f[0][0]
	for i, to := range []*int{&s.ppid, &s.pgrp, &s.session} {
		if *to, err = strconv.Atoi(f[1+i]); err != nil {
			return s, false
		}
	}
	return s, true
}

// processes returns all processes of the system.
func processes() (pids []int) {
	for _, name := range names("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func names(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	return names
}

// signalAll signals every process below this one.
func signalAll(sig syscall.Signal) { signalThese(descendants(), sig) }

// signalThese signals processes, by their groups where these have not ours: a kill
// of a group is one step for the kernel, which no fork gets ahead of.
func signalThese(pids []int, sig syscall.Signal) {
	own := unix.Getpgrp()
	groups := map[int]bool{own: true, 0: true, 1: true}
	for _, pid := range pids {
		s, ok := stat(pid)
		if ok && !groups[s.pgrp] {
			groups[s.pgrp] = true
			unix.Kill(-s.pgrp, sig)
		}
		if ok && s.pgrp == own {
			unix.Kill(pid, sig)
		}
	}
}

// Sweep kills what a killed helper left behind: what carries the mark of its run,
// and the sessions that had such a process in them, that of its process above all.
func Sweep(session int, mark string) (survivors int) {
	mark = RunName + "=" + mark
	sessions := map[int]bool{session: true}
	for begin, clean := time.Now(), 0; ; {
		stats := map[int]procStat{}
		for _, pid := range processes() {
			if s, ok := stat(pid); ok && s.state != 'Z' && s.state != 'X' && pid != os.Getpid() {
				stats[pid] = s
				if marked(pid, mark) {
					sessions[s.session] = true
				}
			}
		}
		delete(sessions, 0) // of the kernel's threads
		var left []int
		for pid, s := range stats {
			if sessions[s.session] {
				left = append(left, pid)
			}
		}
		if clean++; len(left) > 0 {
			clean = 0
		}
		since := time.Since(begin)
		if clean == 2 || since > KillTime {
			return len(left)
		}
		signalThese(left, syscall.SIGKILL)
		time.Sleep(min(since/4, 20*time.Millisecond))
	}
}

func marked(pid int, mark string) bool {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		if string(kv) == mark {
			return true
		}
	}
	return false
}
