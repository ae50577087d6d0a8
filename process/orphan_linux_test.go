package process_test

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A helper whose caller was killed before it came to itself ends: it must not take
// itself for the program and run its main. Here the other end of its socket is
// held by us, and its parent is a shell.
func TestHelperWithoutItsCaller(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	for _, socket := range []*os.File{theirs, nil} {
		cmd := exec.CommandContext(ctx, "bash", "-c", `(exec -a callgate-process-helper "$0"); echo $?`, os.Args[0])
		// If it came to its main, it would say so.
		cmd.Env = []string{"CALLGATE_PROCESS_HELPER=1", "PROCESS_TEST_ROLE=reached"}
		if socket != nil {
			cmd.ExtraFiles = []*os.File{socket}
		}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "1\n" {
			t.Errorf("with a socket %t: %q, %v; want exit code 1 and no word", socket != nil, out, err)
		}
	}
}

func init() {
	roles["reached"] = func() int { println("main was reached"); return 0 }
}
