package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLexicalKey(t *testing.T) {
	dir := tree(t, map[string]string{"l -> src": "", "src/a": ""})
	w := mustOpen(t, dir)
	for _, c := range []struct{ path, key string }{
		{"src/a.go", "file:src/a.go"},
		{"./src//b/../a.go", "file:src/a.go"},
		{dir + "/src/a.go", "file:src/a.go"},
		{"src/", "file:src"},
		{"l/a", "file:l/a"}, // spelling only
		{".", "file:"},
		{dir, "file:"},
		{"~/x", "file:~/x"},
		{"-", "file:-"},
		// Whatever the tools would refuse meets everything.
		{"../x", "file:"},
		{"/etc/passwd", "file:"},
		{dir + "-evil/x", "file:"},
		{"", "file:"},
		{"a\x00b", "file:"},
	} {
		if got := w.LexicalKey(c.path); got != c.key {
			t.Errorf("LexicalKey(%q) = %q, want %q", c.path, got, c.key)
		}
	}
	w.Close()
	if got := w.LexicalKey("src/a"); got != "file:src/a" {
		t.Errorf("on a closed workspace: %q; it must not ask the disk", got)
	}
}

func TestKey(t *testing.T) {
	dir := tree(t, map[string]string{
		"src/a": "", "src/b": "", "other": "", "l -> src": "", "fl -> src/a": "", "new -> src/c": "", "out -> /etc": "", "loop -> loop": "",
	})
	if err := os.Link(filepath.Join(dir, "src/b"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, dir)
	for _, c := range []struct{ path, key string }{
		{"src/a", "file:src/a"},
		{"l/a", "file:src/a"},
		{"fl", "file:src/a"},
		{"l", "file:src"},
		{"new", "file:src/c"},
		{"l/not/yet", "file:src/not/yet"},
		{".", "file:"},
		{"out/passwd", "file:"},
		{"loop", "file:"},
		{"../x", "file:"},
	} {
		if got := w.Key(c.path); got[0] != c.key || len(got) != 1 && !w.fold {
			t.Errorf("Key(%q) = %q, want %q", c.path, got, c.key)
		}
	}
	a, b := w.Key("src/b"), w.Key("hard")
	if len(a) != 2 || len(b) != 2 || a[1] != b[1] || !strings.HasPrefix(a[1], "inode:") || a[0] == b[0] {
		t.Errorf("two names of one file: %q and %q", a, b)
	}
}

// On a disk that folds case two spellings of one file meet: by their folded key, and by identity if it exists.
func TestKeyFoldsCase(t *testing.T) {
	w := mustOpen(t, tree(t, map[string]string{"Src/Straße": ""}))
	w.fold = true
	if a, b := w.LexicalKey("SRC/K"), w.LexicalKey("src/\u212a"); a != b { // the Kelvin sign folds to k
		t.Errorf("%q and %q", a, b)
	}
	if got := w.Key("Src/Straße"); len(got) != 2 {
		t.Errorf("%q has no identity", got)
	}
	if got := w.LexicalKey(strings.ToUpper(w.Dir()) + "/a"); got != w.LexicalKey("A") {
		t.Errorf("an absolute path in other case: %q", got)
	}
}

// What one call leads to and its key agree: a write through any spelling lands at the file its key names.
func TestKeyAndWriteAgree(t *testing.T) {
	dir := tree(t, map[string]string{"d/e/": "", "l -> d/e": "", "m -> l/../n": "", "abs -> /": ""})
	w := mustOpen(t, dir)
	for _, path := range []string{"x", "l/y", "m", "l/../z", "d//e/./q", dir + "/l/r"} {
		key := w.Key(path)
		if err := w.WriteFile(path, []byte(path), WriteOptions{}); err != nil {
			t.Error(err)
			continue
		}
		if got := read(t, filepath.Join(dir, strings.TrimPrefix(key[0], "file:"))); got != path {
			t.Errorf("%q has key %q, which holds %q", path, key, got)
		}
		if again := w.Key(path); !slices.Equal(again[:1], key[:1]) {
			t.Errorf("%q: key %q before and %q after the write", path, key, again)
		}
	}
}

// An absolute link whose target passes another link and goes up again leads where the system says.
func TestAbsoluteLinkThroughALink(t *testing.T) {
	dir := tree(t, map[string]string{"d/e/": "", "d/x": "of the system", "x": "of the spelling", "l -> d/e": ""})
	if err := os.Symlink(dir+"/l/../x", filepath.Join(dir, "abs")); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, dir)
	if got := w.Key("abs"); got[0] != "file:d/x" || read(t, filepath.Join(dir, "abs")) != "of the system" {
		t.Errorf("Key(abs) = %q, want file:d/x", got)
	}
}
