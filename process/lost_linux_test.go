package process_test

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/process"
)

// A process at confined cannot kill its helper, but the kernel can: where memory is
// bounded by a group, what fills files in memory is smaller than the helper, which goes
// first. A daemon without a mark is then still in its group.
func TestDaemonOfALostHelper(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("without a group nothing tells whose a daemon is")
	}
	tag := "6" + strconv.FormatUint(uint64(time.Now().UnixNano())%1e9, 10) + "." + strconv.Itoa(int(rand.Text()[0]))
	cmd := in(t, "(env -i setsid sleep "+tag+" </dev/null >/dev/null 2>&1 &); sleep 0.3; echo $PPID > helper.new; mv helper.new helper; sleep 30")
	cmd.Sandbox = process.Sandbox{Level: process.Confined}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := process.Start(ctx, cmd)
	if err != nil {
		t.Skip("confined does not start here: ", err)
	}
	helper := 0
	for helper == 0 && ctx.Err() == nil {
		b, _ := os.ReadFile(filepath.Join(cmd.Env.Workspace, "helper"))
		helper, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		time.Sleep(10 * time.Millisecond)
	}
	groups, _ := os.ReadFile("/proc/" + strconv.Itoa(helper) + "/cgroup")
	if !strings.Contains(string(groups), "/callgate-") {
		p.Wait()
		t.Skip("this machine has no group of processes that can be made")
	}
	if out, err := exec.Command("pgrep", "-f", "^sleep "+tag).Output(); err != nil {
		t.Fatalf("the daemon does not run: %v %s", err, out)
	}
	if err := syscall.Kill(helper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := p.Wait(); r.Reason != process.Lost || r.Survivors != 0 {
		t.Errorf("%+v", r)
	}
	if out, err := exec.Command("pgrep", "-f", "-r", "R,S,D,T", "^sleep "+tag).Output(); err == nil {
		t.Errorf("the daemon %s outlived its call", strings.TrimSpace(string(out)))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(out))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for line := range strings.Lines(string(groups)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "/callgate-")
		if left, _ := filepath.Glob("/sys/fs/cgroup/*/callgate-" + name); name != "" && left != nil {
			t.Errorf("%q is left", left)
		}
	}
}
