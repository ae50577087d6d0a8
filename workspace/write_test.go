package workspace

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// leftovers are names of ours anywhere below dir, hidden from Walk.
func leftovers(t testing.TB, dir string) (found []string) {
	t.Helper()
	filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(p), ".callgate-") {
			found = append(found, p)
		}
		return nil
	})
	return found
}

func TestWriteFile(t *testing.T) {
	dir := tree(t, map[string]string{
		"a":                 "old",
		"d/b":               "old",
		"l -> d/b":          "",
		"dir -> d":          "",
		"dangling -> d/new": "",
		"out -> ../o":       "",
		"outf -> ../x":      "",
	})
	w := mustOpen(t, dir)
	for _, c := range []struct{ path, lands string }{
		{"a", "a"},
		{"new", "new"},
		{"x/y/z", "x/y/z"},
		{"l", "d/b"},
		{"dir/c", "d/c"},
		{"dangling", "d/new"},
		{filepath.Join(dir, "abs"), "abs"},
	} {
		text := "written to " + c.path
		if err := w.WriteFile(c.path, []byte(text), WriteOptions{}); err != nil {
			t.Error(err)
			continue
		}
		if got := read(t, filepath.Join(dir, c.lands)); got != text {
			t.Errorf("write %s: %s holds %q", c.path, c.lands, got)
		}
	}
	for _, l := range []string{"l", "dir", "dangling"} {
		if st, err := os.Lstat(filepath.Join(dir, l)); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
	if st, _ := os.Stat(filepath.Join(dir, "new")); st.Mode().Perm()&^0o644 != 0 || st.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("a new file has mode %v", st.Mode())
	}
	for path, want := range map[string]error{
		"d": ErrIsDir, "d/": ErrIsDir, "newdir/": ErrIsDir, ".": ErrIsDir, "": ErrInvalidPath,
		"../x": ErrEscape, "out/p.txt": ErrEscape, "outf": ErrEscape, "a/b": ErrNotDir, "a/b/c": ErrNotDir, // H157
	} {
		if err := w.WriteFile(path, []byte("bad"), WriteOptions{}); !errors.Is(err, want) {
			t.Errorf("write %q: %v, want %v", path, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "../x")); err == nil {
		t.Error("written outside")
	}
	if l := leftovers(t, dir); l != nil {
		t.Errorf("left over: %v", l)
	}
}

// H157: o stays empty.
func TestWriteThroughLinkedDirectoryOutside(t *testing.T) {
	base := tree(t, map[string]string{"w/out -> ../o": "", "o/": ""})
	w := mustOpen(t, filepath.Join(base, "w"))
	if err := w.WriteFile("out/p.txt", []byte("x"), WriteOptions{}); !errors.Is(err, ErrEscape) {
		t.Error(err)
	}
	if es, _ := os.ReadDir(filepath.Join(base, "o")); len(es) != 0 {
		t.Errorf("o holds %v", es)
	}
}

// H133: permissions are kept; set-user-ID and its kin are not.
func TestWriteKeepsMode(t *testing.T) {
	dir := tree(t, map[string]string{"run.sh": "echo X\n", "s": "X", "suid": "X", "open": "X"})
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "s": 0o640, "suid": 0o755 | os.ModeSetuid | os.ModeSetgid, "open": 0o666} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	w := mustOpen(t, dir)
	for name, want := range map[string]os.FileMode{"run.sh": 0o755, "s": 0o640, "suid": 0o755, "open": 0o666} {
		if err := w.WriteFile(name, []byte("Y"), WriteOptions{}); err != nil {
			t.Error(err)
		}
		if st, _ := os.Stat(filepath.Join(dir, name)); st.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, st.Mode(), want)
		}
	}
}

func TestWriteRefusesReadOnly(t *testing.T) {
	dir := tree(t, map[string]string{"ro": "keep"})
	os.Chmod(filepath.Join(dir, "ro"), 0o444)
	if err := mustOpen(t, dir).WriteFile("ro", []byte("x"), WriteOptions{}); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	if read(t, filepath.Join(dir, "ro")) != "keep" {
		t.Error("replaced")
	}
}

// A hard link may lead outside, so a write parts the names instead of writing through.
func TestWritePartsHardLinks(t *testing.T) {
	base := tree(t, map[string]string{"o/s": "SECRET", "w/": ""})
	if err := os.Link(filepath.Join(base, "o/s"), filepath.Join(base, "w/h")); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, filepath.Join(base, "w")).WriteFile("h", []byte("new"), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(base, "w/h")) + " " + read(t, filepath.Join(base, "o/s")); got != "new SECRET" {
		t.Error(got)
	}
}

// H137: a change that this session has not seen is not overwritten.
func TestWriteConditions(t *testing.T) {
	sum := func(s string) [32]byte { return sha256.Sum256([]byte(s)) }
	for _, c := range []struct {
		name, before string // "" means no file
		opts         WriteOptions
		want         error
	}{
		{"same content", "old", WriteOptions{IfDigest: sum("old")}, nil},
		{"other content", "outside", WriteOptions{IfDigest: sum("old")}, ErrConflict},
		{"removed", "", WriteOptions{IfDigest: sum("old")}, ErrConflict},
		{"absent", "", WriteOptions{IfAbsent: true}, nil},
		{"present", "outside", WriteOptions{IfAbsent: true}, ErrConflict},
		{"present and of that content", "old", WriteOptions{IfAbsent: true, IfDigest: sum("old")}, ErrConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, nil)
			if c.before != "" {
				fill(t, dir, map[string]string{"a": c.before})
			}
			err := mustOpen(t, dir).WriteFile("a", []byte("new"), c.opts)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			want := "new"
			if err != nil {
				want = c.before
			}
			b, _ := os.ReadFile(filepath.Join(dir, "a"))
			if string(b) != want {
				t.Errorf("a holds %q, want %q", b, want)
			}
			if l := leftovers(t, dir); l != nil {
				t.Errorf("left over: %v", l)
			}
		})
	}
}

// Two writers that saw the same content: one of them must lose, every time.
func TestWriteConditionsHoldAmongGoroutines(t *testing.T) {
	dir := tree(t, map[string]string{"n": "0"})
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		w := mustOpen(t, dir) // each its own, as sub-agents have
		wg.Go(func() {
			for range 20 {
				b, err := w.ReadFile("n", 0)
				if err != nil {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(b))
				err = w.WriteFile("n", fmt.Append(nil, n+1), WriteOptions{IfDigest: sha256.Sum256(b)})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := read(t, filepath.Join(dir, "n")); got != strconv.FormatInt(won.Load(), 10) {
		t.Errorf("%d writes succeeded and the counter is %s", won.Load(), got)
	}
	created := atomic.Int64{}
	w := mustOpen(t, dir)
	for range 8 {
		wg.Go(func() {
			if w.WriteFile("once", nil, WriteOptions{IfAbsent: true}) == nil {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Errorf("%d created it", created.Load())
	}
}
