//go:build unix

package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the process that is killed in the middle of its writes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WORKSPACE_TEST_WRITER"); dir != "" {
		writeForEver(dir)
	}
	os.Exit(m.Run())
}

const bigFile = 20 << 20

func writeForEver(dir string) {
	w, err := Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	content := [2][]byte{bytes.Repeat([]byte("B"), bigFile), bytes.Repeat([]byte("A"), bigFile)}
	fmt.Println("ready")
	for i := 0; ; i++ {
		if err := w.WriteFile("d/a", content[i%2], WriteOptions{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// H140: killed at any moment, a write leaves the whole old or the whole new content, and the next Open removes the rest.
func TestKilledWriters(t *testing.T) {
	dir := tree(t, map[string]string{"d/a": strings.Repeat("A", bigFile)})
	start := time.Now()
	if err := mustOpen(t, dir).WriteFile("d/a", bytes.Repeat([]byte("A"), bigFile), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start) // the scale of the random points, however slow the disk is
	interrupted := 0
	for i := range 50 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "WORKSPACE_TEST_WRITER="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 6)); err != nil {
			t.Fatal("the writer did not start:", err)
		}
		if i%2 == 0 { // at any point; every other time at a point after a write has begun
			for until := time.Now().Add(10 * time.Second); leftovers(t, dir) == nil && time.Now().Before(until); {
			}
		}
		time.Sleep(rand.N(min(took, 150*time.Millisecond)))
		child.Process.Kill()
		child.Wait()
		if leftovers(t, dir) != nil {
			interrupted++
		}
		b := []byte(read(t, filepath.Join(dir, "d/a")))
		if len(b) != bigFile || bytes.Count(b, b[:1]) != bigFile || b[0] != 'A' && b[0] != 'B' {
			t.Fatalf("kill %d: %d bytes, %d of them %q", i, len(b), bytes.Count(b, b[:1]), b[:1])
		}
		mustOpen(t, dir)
		if l := leftovers(t, dir); l != nil {
			t.Fatalf("kill %d: left over after Open: %v", i, l)
		}
	}
	if interrupted == 0 {
		t.Error("no kill met a write: the test shows nothing")
	}
	t.Logf("%d of 50 kills met a write under way", interrupted)
}

// The files of a writer that lives are nobody else's to remove; a forged note removes nothing.
func TestOpenLeavesLiveWritersAlone(t *testing.T) {
	dir := tree(t, map[string]string{"d/": "", "victim": "x", "d/.callgate-x.tmp": "x"})
	w := mustOpen(t, dir)
	p := w.begin("d")
	temp, note := filepath.Join(dir, p.tempName()), filepath.Join(dir, p.noteName())
	fill(t, dir, map[string]string{p.tempName(): "half"})
	id := strings.Repeat("A", idLen)
	fill(t, dir, map[string]string{
		".callgate-" + id + ".pending":                             "../" + filepath.Base(dir) + "/d",
		".callgate-" + strings.Repeat("B", idLen) + ".pending":     "victim",
		".callgate-" + strings.Repeat("C", idLen) + ".pending":     "d",
		"d/.callgate-" + strings.Repeat("C", idLen) + ".tmp/inner": "a directory with the name of a temporary file",
	})
	mustOpen(t, dir)
	for _, f := range []string{temp, note, filepath.Join(dir, "victim"), filepath.Join(dir, "d/.callgate-x.tmp"),
		filepath.Join(dir, "d/.callgate-"+strings.Repeat("C", idLen)+".tmp/inner")} {
		if _, err := os.Lstat(f); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
	p.note.Close() // what death does
	mustOpen(t, dir)
	for _, f := range []string{temp, note} {
		if _, err := os.Lstat(f); err == nil {
			t.Errorf("%s is still there though its writer is gone", f)
		}
	}
}

// A root that cannot be written to takes no note; writes below it work all the same.
func TestWriteWithoutNote(t *testing.T) {
	w := mustOpen(t, tree(t, map[string]string{"d/": ""}))
	p := &pending{root: w.root, dir: "d", id: strings.Repeat("A", idLen)}
	p.end()
	if err := w.WriteFile("d/a", []byte("x"), WriteOptions{}); err != nil {
		t.Error(err)
	}
}

// H142: pipes, devices and sockets are refused at once, and nothing waits for them.
func TestSpecialFiles(t *testing.T) {
	dir := tree(t, map[string]string{"d/": "", "null -> /dev/null": ""})
	for _, name := range []string{"notes.md", ".gitignore", "d/.gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The address of a socket has at most about 100 bytes, so it is bound by a short name.
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(dir, "sock")); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	start := time.Now()
	w := mustOpen(t, dir)
	for range 100 {
		for path, says := range map[string]string{"notes.md": "a named pipe, not a regular file", "sock": "a socket, not a regular file"} {
			if _, err := w.ReadFile(path, 0); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), says) {
				t.Fatal(err)
			}
			if err := w.WriteFile(path, nil, WriteOptions{}); !errors.Is(err, ErrNotRegular) {
				t.Fatal(err)
			}
		}
		if _, err := w.ReadDir("notes.md"); !errors.Is(err, ErrNotDir) {
			t.Fatal(err)
		}
		for _, err := range w.Walk(context.Background(), WalkOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("goroutines grew from %d to %d", before, n)
	}
	if _, err := w.ReadFile("null", 0); !errors.Is(err, ErrEscape) {
		t.Error(err)
	}
}

// A device is not opened to find out what it is, but a name may become a pipe after it was looked at.
func TestPipeSwappedIn(t *testing.T) {
	dir := tree(t, map[string]string{"f": "text"})
	file, pipe, now := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "now")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, map[string]string{"file": "text"})
	w := mustOpen(t, dir)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(now)
			os.Link([]string{file, pipe}[i%2], now)
		}
	}()
	finished := make(chan int)
	go func() {
		got := 0
		for until := time.Now().Add(time.Second); time.Now().Before(until); {
			b, err := w.ReadFile("now", 0)
			if err == nil && string(b) != "text" {
				t.Errorf("read %q", b)
			}
			if err == nil {
				got++
			}
		}
		finished <- got
	}()
	select {
	case <-finished:
	case <-time.After(10 * time.Second):
		t.Error("a read waits for the other end of the pipe")
	}
	close(stop)
	<-done
}

// The race that a check by path loses: while a directory is swapped for a link to the outside, nothing outside is read or
// written. 30,000 tries, or as many as fit into 10 seconds.
func TestSwappedLinkNeverLeaves(t *testing.T) {
	base := tree(t, map[string]string{"w/real/f": "inside", "w/real/sub/g": "inside", "o/f": "OUTSIDE", "o/sub/g": "OUTSIDE"})
	ws := filepath.Join(base, "w")
	w := mustOpen(t, ws)
	evil, good, d := filepath.Join(ws, "evil"), filepath.Join(ws, "real"), filepath.Join(ws, "d")
	fill(t, ws, map[string]string{"evil -> ../o": "", "l -> real2": "", "real2/f": "inside"})
	if err := os.Rename(good, d); err != nil {
		t.Fatal(err)
	}
	var swaps atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		pause := func() { // a sleep would be far too long
			for start, d := time.Now(), time.Duration(rand.IntN(200))*time.Microsecond; time.Since(start) < d; {
			}
		}
		for {
			select {
			case <-stop:
				return
			default:
			}
			// d is a directory, nothing, a link to the outside, nothing; l a link to either side, without a gap.
			os.Rename(d, good)
			os.Rename(evil, d)
			os.Symlink("../o", filepath.Join(ws, "l2"))
			os.Rename(filepath.Join(ws, "l2"), filepath.Join(ws, "l"))
			pause()
			os.Rename(d, evil)
			os.Rename(good, d)
			os.Symlink("real2", filepath.Join(ws, "l2"))
			os.Rename(filepath.Join(ws, "l2"), filepath.Join(ws, "l"))
			pause()
			swaps.Add(1)
		}
	}()
	reads, writes, walks, tries := 0, 0, 0, 0
	lost := 0
	for until := time.Now().Add(10 * time.Second); tries < 30_000 && time.Now().Before(until); tries++ {
		if checkThenRead(ws, "l/f") == "OUTSIDE" {
			lost++
		}
		switch {
		case tries%50 == 0:
			name := []string{"d/f", "l/f"}[tries/50%2]
			// The condition keeps a missing d from being made anew, which would end the game.
			if w.WriteFile(name, []byte("inside"), WriteOptions{IfDigest: sha256.Sum256([]byte("inside"))}) == nil {
				writes++
			}
		case tries%10 == 0:
			for e, err := range w.Walk(context.Background(), WalkOptions{Start: "d"}) {
				if err != nil {
					continue
				}
				if st, err := e.Info(); err == nil && st.Size() == int64(len("OUTSIDE")) {
					t.Fatalf("the walk saw %s outside", e.Path)
				}
				walks++
			}
		default:
			b, err := w.ReadFile([]string{"d/f", "d/sub/g", "l/f"}[tries%3], 0)
			if string(b) == "OUTSIDE" {
				t.Fatalf("try %d read outside", tries)
			}
			if err == nil {
				reads++
			}
		}
	}
	close(stop)
	<-done
	if got := read(t, filepath.Join(base, "o/f")); got != "OUTSIDE" {
		t.Errorf("o/f was changed to %q", got)
	}
	filepath.WalkDir(filepath.Join(base, "o"), func(p string, e os.DirEntry, _ error) error {
		if n := e.Name(); n != "o" && n != "f" && n != "sub" && n != "g" {
			t.Errorf("%s was made outside", p)
		}
		return nil
	})
	if reads == 0 || writes == 0 || walks == 0 || lost == 0 {
		t.Errorf("%d reads, %d writes, %d walks, control lost %d times: the test shows nothing", reads, writes, walks, lost)
	}
	t.Logf("%d tries against %d swaps: %d reads, %d writes, %d walked names succeeded; a check by path lost %d times",
		tries, swaps.Load(), reads, writes, walks, lost)
}

// checkThenRead is the control: the usual check, which resolves a path, compares it with the root and then opens it.
func checkThenRead(ws, name string) string {
	full := filepath.Join(ws, name)
	real, err := filepath.EvalSymlinks(full)
	if err != nil || !strings.HasPrefix(real, ws+"/") {
		return ""
	}
	b, _ := os.ReadFile(full)
	return string(b)
}

func TestGroupThatCannotBeKeptGetsWhatOthersHave(t *testing.T) {
	for was, want := range map[os.FileMode]os.FileMode{0o640: 0o600, 0o664: 0o644, 0o755: 0o755, 0o770: 0o700} {
		if got := groupLikeOthers(was); got != want {
			t.Errorf("%o becomes %o, want %o", was, got, want)
		}
	}
}
