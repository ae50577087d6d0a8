//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestTry(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, b := open(), open()
	if got := Try(a); got != Held {
		t.Errorf("a free file: %v", got)
	}
	if got := Try(b); got != Busy {
		t.Errorf("a file that another open file holds: %v", got)
	}
	r, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := Look(r); got != Busy {
		t.Errorf("a look at a file that another open file holds: %v", got)
	}
	a.Close()
	if got := Look(r); got != Held {
		t.Errorf("a look at a free file: %v", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // each with an open file of its own
			f, err := os.Open(name)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for range 5000 {
				if got := Look(f); got != Held {
					t.Errorf("one of several looks at once: %v", got)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := Try(b); got != Held {
		t.Errorf("after the holder is closed: %v", got)
	}
	if !Linked(b) {
		t.Error("a file with a name is not linked")
	}
	os.Remove(name)
	if Linked(b) {
		t.Error("a removed file is linked")
	}
	if got := Try(a); got != Unknown {
		t.Errorf("a closed file: %v", got)
	}
}
