//go:build linux

package escapes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A run of the suite that is interrupted, or killed, leaves no process and no file.
// What is interrupted is this test program, in the middle of cases with a server, a
// canary, daemons and calls that wait.
func TestInterrupted(t *testing.T) {
	if leaveOut(t); !all {
		t.Skip("takes half a minute: CI or CALLGATE_ESCAPES=all")
	}
	s := newSuite(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestEscapes$")
			cmd.Env = append(os.Environ(), "CALLGATE_ESCAPES=part", "CALLGATE_ESCAPES_COMMAND="+s.command,
				"CALLGATE_ESCAPES_CASES=13_ 15_ 16_ 206_ 208_ 404_ 413_ 504_")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			must(t, cmd.Start())
			defer cmd.Process.Kill()
			pid := cmd.Process.Pid
			// In the middle is when several cases have made their places.
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
				if rooms, _ := filepath.Glob(fmt.Sprintf("/tmp/cgesc-%d-*/*/cgesc.*", pid)); len(rooms) >= 3 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("no case has started")
				}
			}
			time.Sleep(time.Second)
			if len(remains(s, pid)) < 10 {
				t.Fatalf("too little was there to be left: %q", remains(s, pid))
			}
			cmd.Process.Signal(sig)
			if err := cmd.Wait(); err == nil {
				t.Fatal("it had come to its end before")
			}
			var left []string
			for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				if left = remains(s, pid); len(left) == 0 {
					return
				}
			}
			t.Errorf("left: %q", left)
		})
	}
}

// remains names what there is of a suite that has this process ID: files, and
// processes that have its number in their arguments or environment.
func remains(s *suite, pid int) (found []string) {
	for _, pattern := range []string{"/tmp/cgesc-%d-*", "/var/lib/cgesc-%d-*", "/home/cgesc-%d-*", "/run/cgesc-%d*", "/sys/fs/cgroup/cgesc-8%d*", "/sys/fs/cgroup/*/cgesc-8%d*"} {
		names, _ := filepath.Glob(fmt.Sprintf(pattern, pid))
		found = append(found, names...)
	}
	for _, tag := range []string{fmt.Sprintf("/cgesc-%d-", pid), fmt.Sprintf("SUITE=%d", pid)} {
		pids, err := exec.Command(filepath.Join(s.bin, "probe"), "left", tag).Output()
		if err != nil {
			return append(found, "unknown: "+err.Error())
		}
		for _, p := range strings.Fields(string(pids)) {
			found = append(found, "process "+p)
		}
	}
	return found
}
