//go:build linux

package escapes

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// busy is what a call does while callgate is killed: files in the private directory,
// a daemon without environment, and something that ignores signals. Its arguments
// hold a tag by which the test finds it.
const busy = `
tag=%s
echo x >"${TMPDIR:-/tmp}/x"; mkdir -p "${TMPDIR:-/tmp}/deep/er"; chmod 0 "${TMPDIR:-/tmp}/deep"
setsid env -i sleep "$tag" </dev/null >/dev/null 2>&1 &
(trap '' TERM INT HUP; sleep "$tag") &
for i in 1 2 3 4 5 6; do (sleep "$tag" &); done
echo ready
sleep "$tag"
`

// A callgate that is killed, or ended by a signal that it hears, at any moment leaves no process, no mount, no cgroup and
// no directory.
func TestKilled(t *testing.T) {
	leaveOut(t)
	lives := map[string]int{"isolated": 8, "confined": 4} // of all users together
	if all {
		lives = map[string]int{"isolated": 200, "confined": 40, "none": 20}
	}
	users := whoTries()
	s := newSuite(t)
	for _, u := range users {
		can, why := s.starts(u)
		for _, level := range can {
			if n := lives[level] / len(users); n > 0 {
				t.Run(u.name+"/"+level, func(t *testing.T) { s.killed(t, u, level, n) })
			}
		}
		for level, reason := range why {
			t.Logf("%s as %s is not tried: it does not start here: %s", level, u.name, reason)
		}
	}
}

func (s *suite) killed(t *testing.T, u user, level string, lives int) {
	mounts, cgroups := mountsOf(t), cgroupsOf()
	dir := filepath.Join(s.near[u.uid], "killed-"+level)
	temp, work := filepath.Join(dir, "tmp"), filepath.Join(dir, "ws")
	for _, d := range []string{dir, temp, work} {
		must(t, os.Mkdir(d, 0o755))
		must(t, os.Chown(d, u.uid, u.uid))
	}
	tag := fmt.Sprintf("9%d.%d", os.Getpid(), rand.IntN(1e9))
	start := func() (*exec.Cmd, *strings.Builder) {
		cmd := exec.Command(s.command, "exec", "--sandbox", level, "--", "sh", "-c", fmt.Sprintf(busy, tag))
		cmd.Env = append(slices.Clone(s.env), "HOME="+dir, "TMPDIR="+temp)
		cmd.Dir, cmd.SysProcAttr = work, as(u)
		out := &strings.Builder{}
		cmd.Stdout = out
		must(t, cmd.Start())
		return cmd, out
	}
	// How long it takes to start is where the moments lie that are worth a kill.
	var span time.Duration
	for range 2 {
		cmd, _ := start()
		begin := time.Now()
		n := 0
		for n < 8 && time.Since(begin) < 20*time.Second {
			time.Sleep(2 * time.Millisecond)
			n = len(alive(tag))
		}
		span = time.Since(begin)
		if n < 8 {
			t.Errorf("%d processes of the call were there to be killed, not 8", n)
		}
		cmd.Process.Kill()
		cmd.Wait()
		s.nothingLeft(t, u, tag, temp)
	}
	ready := 0
	for i := range lives {
		cmd, out := start()
		wait := time.Duration(rand.Int64N(int64(span) * 3 / 2))
		time.Sleep(wait)
		sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}[i%4]
		cmd.Process.Signal(sig)
		late := time.AfterFunc(15*time.Second, func() {
			t.Errorf("callgate does not end of %v", sig)
			cmd.Process.Kill()
		})
		cmd.Wait()
		late.Stop()
		if strings.Contains(out.String(), "ready") {
			ready++
		}
		if !s.nothingLeft(t, u, tag, temp) {
			t.Fatalf("life %d of %d, ended by %v after %v (%v to start)", i+1, lives, sig, wait, span)
		}
	}
	t.Logf("%d lives, up to %v; %d had come to the command", lives, span*3/2, ready)
	if now := mountsOf(t); !slices.Equal(mounts, now) {
		t.Errorf("mounts of the machine before and after:\n%q\n%q", mounts, now)
	}
	for _, c := range cgroupsOf() {
		if !slices.Contains(cgroups, c) && forgotten(c) {
			t.Errorf("a cgroup is left: %s", c)
		}
	}
}

// nothingLeft waits for what was left behind to go, and says what does not. What ends
// a call that nobody waits for takes a moment.
func (s *suite) nothingLeft(t *testing.T, u user, tag, temp string) bool {
	t.Helper()
	var pids []int
	var dirs []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		pids = alive(tag)
		dirs, _ = filepath.Glob(filepath.Join(temp, "*"))
		if len(pids)+len(dirs) == 0 {
			return true
		}
	}
	for _, pid := range pids {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("process %d is left: %q", pid, args)
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, d := range dirs {
		t.Errorf("%s is left", d)
	}
	return false
}

// alive returns the processes that have tag in their arguments.
func alive(tag string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil || pid == os.Getpid() {
			continue
		}
		args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(args, []byte(tag)) && !bytes.Contains(args, []byte("exec\x00--sandbox")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// mountsOf returns what is mounted in this namespace.
func mountsOf(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	return lines
}

// cgroupsOf returns the cgroups that callgate has made.
func cgroupsOf() (dirs []string) {
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "callgate") {
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs
}

// forgotten reports whether a cgroup stays although nobody is in it. Another callgate
// on this machine may have made it.
func forgotten(dir string) bool {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil || len(procs) > 0 {
			return false
		}
	}
	return true
}
