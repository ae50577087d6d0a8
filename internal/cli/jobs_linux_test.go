package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withMark returns the processes that have a mark in their command line.
func withMark(mark string) (found []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		if bytes.Contains(line, []byte(mark)) && filepath.Base(dir) != fmt.Sprint(os.Getpid()) {
			found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// However the command ends, by a kill -9 in particular, nothing of its jobs is left:
// no process, not a daemon's either, and no temporary directory.
func TestNothingIsLeftOfJobs(t *testing.T) {
	ends := map[string]func(cmd *exec.Cmd, in interface{ Close() error }){
		"the end of its input": func(_ *exec.Cmd, in interface{ Close() error }) { in.Close() },
		"SIGTERM":              func(cmd *exec.Cmd, _ interface{ Close() error }) { cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":              func(cmd *exec.Cmd, _ interface{ Close() error }) { cmd.Process.Kill() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("%d.%06d", 1_000_000+rand.IntN(1_000_000), rand.IntN(1_000_000))
			tmp, ws := t.TempDir(), t.TempDir()
			cmd := exec.CommandContext(t.Context(), "callgate", "dispatch", "--stream", "--workspace", ws, "--allow", "bash")
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "TMPDIR="+tmp)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			call := `{"id":"1","name":"bash","arguments":{"background":true,"command":"trap '' TERM; (setsid sh -c 'sleep ` + mark + `' &) ; sleep ` + mark + `"}}`
			fmt.Fprintf(in, `{"calls":[%s,%s,%s]}`+"\n", call, call, call)
			answer, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || strings.Count(answer, `"status":"running"`) != 3 {
				t.Fatalf("%v: %s", err, answer)
			}
			soon(t, "they run", func() bool { return len(withMark("sleep\x00"+mark)) == 6 })
			end(cmd, in)
			err = cmd.Wait()
			if name == "the end of its input" {
				if left := withMark(mark); err != nil || len(left) > 0 { // it has waited for them
					t.Errorf("%v: %q", err, left)
				}
			} else if !errors.As(err, new(*exec.ExitError)) {
				t.Errorf("it ended with %v", err)
			}
			soon(t, "nothing is left", func() bool { return len(withMark(mark)) == 0 })
			soon(t, "no directory is left", func() bool { left, _ := os.ReadDir(tmp); return len(left) == 0 })
		})
	}
}

// soon waits for something that happens soon.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("after 20 s not yet: %s", what)
		}
	}
}
