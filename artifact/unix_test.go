//go:build unix

package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be another process that shares a store.
func TestMain(m *testing.M) {
	dir := os.Getenv("ARTIFACT_TEST_STORE")
	if dir == "" {
		os.Exit(m.Run())
	}
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("ARTIFACT_TEST_HANG") != "" {
		w, _ := s.Create(0)
		w.Write([]byte("half"))
		fmt.Println("writing")
		select {}
	}
	for i := range 50 {
		a, err := s.Put(context.Background(), bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 10_000)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(a.ID)
		if again, err := Open(dir, Options{}); err != nil { // sweeps while the others write
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		} else {
			again.Close()
		}
	}
}

func child(dir string, env ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "ARTIFACT_TEST_STORE="+dir), env...)
	c.Stderr = os.Stderr
	return c
}

func TestSeveralProcessesShareAStore(t *testing.T) {
	dir := t.TempDir()
	var children []*exec.Cmd
	var outs []*bytes.Buffer
	for range 4 {
		c := child(dir)
		out := new(bytes.Buffer)
		c.Stdout = out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children, outs = append(children, c), append(outs, out)
	}
	s := mustOpen(t, dir, Options{})
	kept := 0
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		for id := range strings.FieldsSeq(outs[i].String()) {
			r, err := s.Open(id)
			if err != nil {
				t.Error(err)
				continue
			}
			r.Close()
			kept++
		}
	}
	if kept != 200 {
		t.Errorf("%d artifacts, want 200", kept)
	}
}

// What a killed process was writing goes at the next Open; what a live one is writing stays.
func TestOpenRemovesWhatTheDeadLeft(t *testing.T) {
	dir := t.TempDir()
	c := child(dir, "ARTIFACT_TEST_HANG=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "writing\n" {
		t.Fatal(line, err)
	}
	mustOpen(t, dir, Options{})
	if n := names(t, dir); len(n) != 1 {
		t.Errorf("a live writer's file: %v", n)
	}
	c.Process.Kill()
	c.Wait()
	mustOpen(t, dir, Options{})
	if n := names(t, dir); len(n) != 0 {
		t.Errorf("a dead writer's file: %v", n)
	}
}

func TestPipeInTheStore(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tmp-pipe", strings.Repeat("a", 20) + "." + strings.Repeat("0", 64)} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, dir, Options{})
	if _, err := s.Open(strings.Repeat("a", 20)); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}
