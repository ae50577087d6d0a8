package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func mustOpen(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustPut(t testing.TB, s *Store, text string) Artifact {
	t.Helper()
	a, err := s.Put(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// names lists the directory, for tests of what is left in it.
func names(t testing.TB, dir string) (found []string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		found = append(found, e.Name())
	}
	return found
}

func Example() {
	dir, _ := os.MkdirTemp("", "artifacts")
	defer os.RemoveAll(dir)
	store, err := Open(dir, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	kept, err := store.Put(context.Background(), strings.NewReader("a very long output"))
	if err != nil {
		fmt.Println(err)
		return
	}
	// kept.Ref() is "artifact:" and 20 random characters; a model names it to read on.
	id, err := ParseRef(kept.Ref())
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := store.Open(id)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	page := make([]byte, 6)
	r.ReadAt(page, 12)
	fmt.Printf("%d bytes, from 12: %s\n", r.Artifact.Size, page)
	// Output: 18 bytes, from 12: output
}

func TestPutAndOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	for _, sync := range []bool{false, true} {
		s := mustOpen(t, dir, Options{Sync: sync})
		for _, text := range []string{"", "x", strings.Repeat("long\n", 100_000)} {
			a := mustPut(t, s, text)
			if a.Size != int64(len(text)) || a.SHA256 != sha256.Sum256([]byte(text)) || a.Created.IsZero() {
				t.Errorf("%+v", a)
			}
			r, err := s.Open(a.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if string(got) != text || err != nil || r.Artifact != a {
				t.Errorf("%d bytes, %v, %+v, want %d and %+v", len(got), err, r.Artifact, len(text), a)
			}
			r.Close()
			if st, err := s.Stat(a.ID); err != nil || st != a {
				t.Errorf("Stat: %+v, %v", st, err)
			}
		}
	}
}

// Only the owner can read what was spilled: it may hold anything.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	s := mustOpen(t, dir, Options{})
	w, err := s.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("x"))
	mode := func(p string) os.FileMode {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode().Perm()
	}
	if got := mode(filepath.Join(dir, names(t, dir)[0])); got != 0o600 {
		t.Errorf("while it is written: %o", got)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := mode(filepath.Join(dir, names(t, dir)[0])); got != 0o600 {
		t.Errorf("kept: %o", got)
	}
	if got := mode(dir); got != 0o700 {
		t.Errorf("directory: %o", got)
	}
}

func TestIDs(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	good := mustPut(t, s, "x")
	if id, err := ParseRef(good.Ref()); id != good.ID || err != nil {
		t.Errorf("%q: %v", good.Ref(), err)
	}
	for _, id := range []string{
		"", "a", "..", "../../../etc/passwd", strings.Repeat("a", 19), strings.Repeat("a", 21), strings.ToUpper(good.ID),
		good.ID + "/", "./" + good.ID, good.ID[:19] + "/", good.ID[:19] + "1", good.ID[:19] + "\x00", good.ID[:18] + "é", good.ID + "\n", " " + good.ID,
	} {
		if _, err := ParseRef(Scheme + id); !errors.Is(err, ErrInvalidID) {
			t.Errorf("ParseRef of %q: %v", id, err)
		}
		for what, err := range map[string]error{"Open": second(s.Open(id)), "Stat": second(s.Stat(id)), "Remove": s.Remove(id)} {
			if !errors.Is(err, ErrInvalidID) {
				t.Errorf("%s of %q: %v", what, id, err)
			}
		}
	}
	for _, ref := range []string{good.ID, "Artifact:" + good.ID, "artifact: " + good.ID, "artifact://" + good.ID, "artifact:artifact:" + good.ID} {
		if _, err := ParseRef(ref); !errors.Is(err, ErrInvalidID) {
			t.Errorf("ParseRef(%q): %v", ref, err)
		}
	}
	if _, err := s.Open(strings.Repeat("a", 20)); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// A file that is not what was kept is an error that names it, however it changed.
func TestChangedContent(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"a byte":         func(f string) error { return os.WriteFile(f, []byte("kepT"), 0o600) },
		"shorter":        func(f string) error { return os.Truncate(f, 3) },
		"longer":         func(f string) error { return os.WriteFile(f, []byte("kept and more"), 0o600) },
		"a directory":    func(f string) error { os.Remove(f); return os.Mkdir(f, 0o700) },
		"a link outside": func(f string) error { os.Remove(f); return os.Symlink("/etc/hostname", f) },
		"a link to a copy": func(f string) error {
			os.Rename(f, f+".copy")
			return os.Symlink(filepath.Base(f)+".copy", f)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := mustOpen(t, dir, Options{})
			a := mustPut(t, s, "kept")
			if err := change(filepath.Join(dir, names(t, dir)[0])); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(a.ID); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), a.Ref()) {
				t.Errorf("%v, want ErrChanged that names %s", err, a.Ref())
			}
		})
	}
}

func TestRemoveAndList(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	a, b := mustPut(t, s, "a"), mustPut(t, s, "bb")
	os.WriteFile(filepath.Join(dir, "README"), nil, 0o600)
	all, err := s.List()
	if err != nil || len(all) != 2 || all[0].Size+all[1].Size != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	r, err := s.Open(a.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := s.Remove(a.ID); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(r); string(got) != "a" || err != nil {
		t.Errorf("an open reader after Remove: %q, %v", got, err)
	}
	if err := s.Remove(a.ID); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if all, _ := s.List(); len(all) != 1 || all[0] != b {
		t.Errorf("%+v", all)
	}
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{MaxItem: 10, MaxTotal: 25})
	if _, err := s.Put(context.Background(), strings.NewReader("01234567890")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("11 of 10 bytes: %v", err)
	}
	a := mustPut(t, s, "0123456789")
	mustPut(t, s, "0123456789")
	if _, err := s.Put(context.Background(), strings.NewReader("012345")); !errors.Is(err, ErrFull) {
		t.Errorf("26 of 25 bytes: %v", err)
	}
	mustPut(t, s, "01234")
	if err := s.Remove(a.ID); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "0123456789")
	if n := len(names(t, dir)); n != 3 {
		t.Errorf("%d files, want 3: refused ones leave nothing", n)
	}
	if _, err := mustOpen(t, dir, Options{MaxTotal: 25}).Put(context.Background(), strings.NewReader("x")); !errors.Is(err, ErrFull) {
		t.Errorf("another store of the same directory: %v", err)
	}
}

// Writers at work count too, and give back what they did not use.
func TestTotalAmongWriters(t *testing.T) {
	const item, total = 1000, 10_000
	s := mustOpen(t, t.TempDir(), Options{MaxTotal: total})
	var wg sync.WaitGroup
	var mu sync.Mutex
	kept := 0
	for i := range 40 {
		wg.Go(func() {
			w, err := s.Create(0)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			for range item / 10 {
				if _, err := w.Write(make([]byte, 10)); err != nil {
					if !errors.Is(err, ErrFull) {
						t.Error(err)
					}
					return
				}
			}
			if i%2 == 0 { // half give up
				return
			}
			if _, err := w.Commit(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			kept++
			mu.Unlock()
		})
	}
	wg.Wait()
	all, err := s.List()
	if err != nil || len(all) != kept || kept*item > total {
		t.Errorf("%d listed, %d kept: %v", len(all), kept, err)
	}
	for range (total - kept*item) / item {
		mustPut(t, s, string(make([]byte, item)))
	}
	if _, err := s.Put(context.Background(), strings.NewReader("x")); !errors.Is(err, ErrFull) {
		t.Errorf("past the total: %v", err)
	}
}

func TestWriterLimitKeepsWhatFits(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	w, err := s.Create(5)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if n, err := w.Write([]byte("abc")); n != 3 || err != nil {
		t.Error(n, err)
	}
	if n, err := w.Write([]byte("defg")); n != 2 || !errors.Is(err, ErrTooLarge) {
		t.Error(n, err)
	}
	a, err := w.Commit()
	if err != nil || a.Size != 5 || a.SHA256 != sha256.Sum256([]byte("abcde")) {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := w.Commit(); err == nil {
		t.Error("committed twice")
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("written after Commit")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Open(a.ID); err != nil {
		t.Errorf("Close after Commit removed it: %v", err)
	}
}

// What is being written can be read, until it is kept.
func TestWriterReadAt(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	w, err := s.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, part := range []string{"one ", "two ", "three"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 6)
	if n, err := w.ReadAt(got, 4); n != 6 || err != nil || string(got) != "two th" {
		t.Errorf("read %q: %v", got[:n], err)
	}
	if a, err := w.Commit(); err != nil || a.Size != 13 {
		t.Errorf("%d bytes were kept: %v", a.Size, err)
	}
	if _, err := w.ReadAt(got, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestFailedPutKeepsNothing(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	broken := errors.New("broken")
	if _, err := s.Put(context.Background(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := s.Put(ctx, readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := names(t, dir); len(n) != 0 {
		t.Errorf("left: %v", n)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func FuzzParseRef(f *testing.F) {
	f.Add("artifact:abcdefghijklmnopqr23")
	f.Add("artifact:../../../../etc/x")
	f.Add("artifact:")
	s := mustOpen(f, f.TempDir(), Options{})
	f.Fuzz(func(t *testing.T, ref string) {
		id, err := ParseRef(ref)
		if err != nil {
			if id != "" {
				t.Errorf("an id with an error: %q", id)
			}
			return
		}
		if Scheme+id != ref || filepath.Base(id) != id || strings.ContainsAny(id, "./\\:\x00 ") || len(id) != 20 {
			t.Errorf("%q gave %q", ref, id)
		}
		if _, err := s.Open(id); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	s := mustOpen(b, b.TempDir(), Options{})
	data := bytes.Repeat([]byte("x"), 64<<10)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		a, err := s.Put(context.Background(), bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		s.Remove(a.ID)
	}
}

func BenchmarkOpen(b *testing.B) {
	s := mustOpen(b, b.TempDir(), Options{})
	a, err := s.Put(context.Background(), bytes.NewReader(make([]byte, 1<<20)))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 20)
	for b.Loop() {
		r, err := s.Open(a.ID)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// What is restored has the name that it had elsewhere, and only its own content.
func TestRestore(t *testing.T) {
	ctx := context.Background()
	from := mustPut(t, mustOpen(t, t.TempDir(), Options{}), "text")
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	if created, err := s.Restore(ctx, from.ID, from.SHA256, strings.NewReader("other")); created || !errors.Is(err, ErrChanged) {
		t.Errorf("other content: %v, %v", created, err)
	}
	if created, err := s.Restore(ctx, "../x", from.SHA256, strings.NewReader("text")); created || !errors.Is(err, ErrInvalidID) {
		t.Errorf("a name that is none: %v, %v", created, err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if created, err := s.Restore(ctx, from.ID, from.SHA256, strings.NewReader("text")); !created || err != nil {
		t.Errorf("%v, %v", created, err)
	}
	r, err := s.Open(from.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if created, err := s.Restore(ctx, from.ID, from.SHA256, iotest.ErrReader(errors.New("read"))); created || err != nil {
		t.Errorf("again: %v, %v", created, err)
	}
	if created, err := s.Restore(ctx, from.ID, sha256.Sum256([]byte("other")), strings.NewReader("other")); created || !errors.Is(err, ErrChanged) {
		t.Errorf("another under its name: %v, %v", created, err)
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
