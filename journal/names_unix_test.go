//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A link is another way to the same file, so the one who has it open lives by
// whichever way he came; a second name for it is refused.
func TestOtherNames(t *testing.T) {
	dir := t.TempDir()
	path, link, hard := filepath.Join(dir, "j.db"), filepath.Join(dir, "link.db"), filepath.Join(dir, "hard.db")
	j := open(t, path, journal.Options{})
	if _, err := j.Begin("s", journal.About{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("j.db", link); err != nil {
		t.Fatal(err)
	}
	other := open(t, link, journal.Options{})
	want(t, newGate(t, other.Executor(nil)).submit(1, call("once", `{}`))[0], callgate.Unavailable, callgate.NotStarted, "another process has the session")
	if err := os.Link(path, hard); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, hard} {
		if j, err := journal.Open(name, journal.Options{}); err == nil || !strings.Contains(err.Error(), "it has 2 names (hard links)") {
			t.Errorf("%s: %v", name, err)
			if j != nil {
				j.Close()
			}
		}
	}
}
