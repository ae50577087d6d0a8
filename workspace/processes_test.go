package workspace

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// countUp adds 1 to the file n as often as it succeeds in n tries.
func countUp(w *Workspace, tries int) (won int, err error) {
	for range tries {
		b, err := w.ReadFile("n", 0)
		if err != nil {
			return won, err
		}
		n, _ := strconv.Atoi(string(b))
		switch err := w.WriteFile("n", fmt.Append(nil, n+1), WriteOptions{IfDigest: sha256.Sum256(b)}); {
		case err == nil:
			won++
		case !errors.Is(err, ErrConflict):
			return won, err
		}
	}
	return won, nil
}

// Processes that edit one file lose no change: each either writes or is told of a
// conflict.
func TestWriteConditionsHoldAmongProcesses(t *testing.T) {
	const role = "CALLGATE_TEST_COUNT_IN"
	if dir := os.Getenv(role); dir != "" {
		won, err := countUp(mustOpen(t, dir), 150)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("won-%d", os.Getpid())), fmt.Append(nil, won), 0o600)
		return
	}
	dir := tree(t, map[string]string{"n": "0"})
	var children []*exec.Cmd
	for range 4 {
		c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		c.Env = append(os.Environ(), role+"="+dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "won-*"))
	if err != nil || len(files) != len(children) {
		t.Fatalf("%d of %d processes came to their end: %v", len(files), len(children), err)
	}
	total := 0
	for _, f := range files {
		n, err := strconv.Atoi(strings.TrimSpace(read(t, f)))
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if got := read(t, filepath.Join(dir, "n")); total == 0 || got != strconv.Itoa(total) {
		t.Errorf("%d writes succeeded and the counter is %s", total, got)
	}
}
