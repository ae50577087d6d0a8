package warden

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What is gone needs no hiding, but where the process itself could have put it aside.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/there", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	v := &view{root: root}
	p := &Plan{Places: []Place{{"/ws", Writable, true}, {"/home", Hidden, true}, {"/home/ann", Writable, true}}}
	for path, want := range map[string]bool{"/there": false, "/left": true, "/ws/.env": false, "/home": false} {
		if got := v.gone(p, Place{Path(path), Hidden, false}); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if v.gone(p, Place{"/left", Writable, true}) {
		t.Error("what is granted is not left out in silence")
	}
}
