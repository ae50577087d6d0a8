//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A write that is killed at any moment leaves the old content or the new.
func TestKilledWrite(t *testing.T) {
	const size = 900_000
	dir := t.TempDir()
	file := filepath.Join(dir, "big.txt")
	texts := []string{strings.Repeat("a", size), strings.Repeat("b", size)}
	args := make([][]byte, 2)
	for i, text := range texts {
		var err error
		if args[i], err = json.Marshal(map[string]string{"path": "big.txt", "content": text}); err != nil {
			t.Fatal(err)
		}
	}
	command := func(i int) *exec.Cmd {
		cmd := exec.Command("callgate", "tools", "call", "write_file", "-", "--workspace", dir, "--allow", "write_file")
		cmd.Stdin = bytes.NewReader(args[i])
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		return cmd
	}
	begin := time.Now()
	if out, err := command(0).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(begin)
	killed, current := 0, 0
	for range 12 {
		next := 1 - current
		cmd := command(next)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole))))
		cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch string(got) {
		case texts[next]:
			current = next
		case texts[current]:
		default:
			t.Fatalf("after kill -9 the file has %d bytes, and is neither the old nor the new", len(got))
		}
	}
	t.Logf("%d of 12 writes were killed before their end", killed)
	if out, err := command(1 - current).CombinedOutput(); err != nil {
		t.Fatalf("after the kills: %v: %s", err, out)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("what killed writers left is still there: %v", entries)
	}
}

// An interrupt ends a command that waits for its input, with 130; SIGTERM too.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "callgate", "dispatch", "--stream", "--workspace", t.TempDir())
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
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
		io.WriteString(in, "{\"calls\":[]}\n")
		answer := make([]byte, len("{\"results\":[]}\n"))
		if _, err := io.ReadFull(out, answer); err != nil {
			t.Fatal(err)
		}
		cmd.Process.Signal(sig)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(sig) {
			t.Errorf("%v: %v, want exit code %d", sig, err, 128+int(sig))
		}
	}
}

// What was told to survive its terminal does.
func TestIgnoredSignal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `trap "" HUP; exec callgate dispatch --stream --workspace "$0"`, t.TempDir())
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
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
	for range 2 {
		io.WriteString(in, "{\"calls\":[]}\n")
		answer := make([]byte, len("{\"results\":[]}\n"))
		if _, err := io.ReadFull(out, answer); err != nil {
			t.Fatalf("after the hang-up: %v", err)
		}
		cmd.Process.Signal(syscall.SIGHUP)
		time.Sleep(50 * time.Millisecond) // for a death to be noticed
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Who reads only the first line of a demo leaves no workspace behind, and sees no
// complaint.
func TestReaderWentAway(t *testing.T) {
	tmp := t.TempDir()
	var stderr bytes.Buffer
	cmd := exec.Command("callgate", "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stderr = &stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Read(make([]byte, 1))
	r.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 141 || stderr.Len() > 0 {
		t.Errorf("%v, want exit code 141; %s", err, stderr.String())
	}
	mustBeEmpty(t, tmp)
}
