//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/cli"
)

// An interrupt ends exec and what it runs, with 130; so does SIGTERM, with 143.
func TestExecSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "callgate", "exec", "--workspace", t.TempDir(), "--", "sh", "-c", "echo begun; sleep 1000; echo after")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "begun\n" {
			t.Fatalf("%q, %v: output does not come as it is written", line, err)
		}
		cmd.Process.Signal(sig)
		rest, _ := lines.ReadString('\n')
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(sig) || rest != "" {
			t.Errorf("%v: %v, %q; want exit code %d", sig, err, rest, 128+int(sig))
		}
	}
}

// A reader that went away ends a command that would write for ever.
func TestExecReaderWentAway(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for name, line := range map[string]string{"standard output": "exec yes", "standard error": "exec yes >&2"} {
		cmd := exec.CommandContext(ctx, "callgate", "exec", "--workspace", t.TempDir(), "--", "sh", "-c", line)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Stdout = w; name == "standard error" {
			cmd.Stdout, cmd.Stderr = nil, w
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		r.Read(make([]byte, 1))
		r.Close()
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 141 {
			t.Errorf("%s: %v, want exit code 141", name, err)
		}
	}
}

// A full disk is exec's own failure, not the command's.
func TestExecFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	var errs bytes.Buffer
	code := cli.Run(t.Context(), []string{"exec", "--workspace", t.TempDir(), "--", "echo", "hi"}, nil, &broken{0, full}, &errs)
	if code != 125 || !strings.Contains(errs.String(), full.Error()) {
		t.Errorf("exit code %d, %q; want 125 and the reason", code, errs.String())
	}
}
