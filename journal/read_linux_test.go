package journal_test

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"

	"github.com/callgate/callgate/journal"
)

// A reader takes no lock from a writer of its own process, as closing the file would:
// another process could take itself for the last one, and remove the log.
func TestReaderLeavesTheLocks(t *testing.T) {
	path := file(t)
	open(t, path, journal.Options{})
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(fmt.Sprintf(`(?m)^.* POSIX .*:%d 10737\d+ .*$`, st.Sys().(*syscall.Stat_t).Ino)) // SQLite's range
	locks := func() string {
		b, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip(err)
		}
		return string(pattern.Find(b))
	}
	if locks() == "" {
		t.Skip("the kernel does not tell of the lock")
	}
	openToRead(t, path, journal.Options{}).Close()
	if locks() == "" {
		t.Error("the lock of the writer is gone")
	}
}
