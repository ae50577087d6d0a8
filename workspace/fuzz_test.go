package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a path looks like, what it reads and writes is inside, its key names it, and an error is an Error.
func FuzzPaths(f *testing.F) {
	base := tree(f, map[string]string{
		"w/a": "inside", "w/d/e/f": "inside", "w/l -> d/e": "", "w/up -> ..": "", "w/out -> ../o": "", "w/x -> out/../a": "", "w/self -> ./self": "",
		"w/back -> ../w/d": "", "o/a": "OUTSIDE", "o/secret": "OUTSIDE", "w-evil/a": "OUTSIDE", "a": "OUTSIDE",
	})
	ws := filepath.Join(base, "w")
	if err := os.Symlink(ws, filepath.Join(ws, "abs")); err != nil {
		f.Fatal(err)
	}
	w := mustOpen(f, ws)
	for _, p := range []string{"a", "d/e/f", "l/f", "up/a", "up/o/a", "out/a", "out/secret", "x", "self", "back/e/f", "abs/abs/a", "abs/up/o/a", "abs/../a",
		"../w-evil/a", "../a", "~/a", "/a", "//a", "d/../../o/a", "\x00", "d//./e/..", "\\..\\a", "BASE/w/a", "BASE/o/a", "BASE/w-evil/a", "BASE/w/../o/a", "l/../../o/a"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if strings.Count(p, "/") > 20 || strings.Contains(p, ".callgate-") {
			return // deep trees only slow the fuzzer down
		}
		p = strings.ReplaceAll(p, "BASE", base)
		got, err := w.ReadFile(p, 1000)
		if strings.Contains(string(got), "OUTSIDE") {
			t.Fatalf("read %q is outside", p)
		}
		if _, ok := err.(*Error); err != nil && !ok {
			t.Errorf("read %q: %T %v", p, err, err)
		}
		if clean, err := w.Clean(p); err == nil {
			if !filepath.IsLocal(clean) || w.LexicalKey(p) != w.LexicalKey(clean) {
				t.Errorf("Clean(%q) = %q", p, clean)
			}
			if again, err := w.Clean(clean); again != clean || err != nil {
				t.Errorf("Clean(%q) = %q, %v: not clean yet", clean, again, err)
			}
		} else if w.LexicalKey(p) != WholeKey {
			t.Errorf("%q is refused and has the key %q", p, w.LexicalKey(p))
		}
		key := w.Key(p)[0]
		if err := w.WriteFile(p, []byte("inside"), WriteOptions{}); err == nil {
			real := filepath.Join(ws, strings.TrimPrefix(key, "file:"))
			if b, err := os.ReadFile(real); string(b) != "inside" {
				t.Errorf("write %q with key %q: %q, %v", p, key, b, err)
			}
			if want := map[string]bool{"a": true, "d/e/f": true}; !want[strings.TrimPrefix(key, "file:")] {
				os.Remove(real)
			}
		}
		for _, o := range []string{"o/a", "o/secret", "w-evil/a", "a"} {
			if read(t, filepath.Join(base, o)) != "OUTSIDE" {
				t.Fatalf("write %q changed %s", p, o)
			}
		}
		if es, _ := os.ReadDir(base); len(es) != 4 {
			t.Fatalf("write %q made something outside: %v", p, es)
		}
		if es, _ := os.ReadDir(filepath.Join(base, "o")); len(es) != 2 {
			t.Fatalf("write %q made something outside: %v", p, es)
		}
	})
}
