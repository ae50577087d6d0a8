package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

func TestIgnored(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".gitignore": "out\n*.log\n", "out/deep/f": "", "a.log": "", "src/f": "", ".git/config": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, want := range map[string]bool{".": false, "out": true, "out/deep": true, "a.log": true, "src": false, "src/f": false, ".git": true} {
		if got, err := w.Ignored(name); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
	if _, err := w.Ignored("../x"); err == nil {
		t.Error("a path outside was judged")
	}
}
