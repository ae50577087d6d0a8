//go:build unix

package builtin

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate"
)

func TestReadOfAPipe(t *testing.T) { // H142
	w := newWorld(t)
	if err := syscall.Mkfifo(w.path("notes.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	start := time.Now()
	for range 100 {
		w.fails(w.call("read_file", "path", "notes.md"), callgate.ExecutionError, "not a regular file")
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("100 calls took %v", d)
	}
	if n := runtime.NumGoroutine(); n > before+5 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	w.fails(w.call("write_file", "path", "notes.md", "content", "x"), callgate.ExecutionError, "not a regular file")
	w.fails(w.call("edit_file", "path", "notes.md", "old_text", "x", "new_text", "y"), callgate.ExecutionError, "not a regular file")
	w.put("other", "needle\n")
	w.says(w.call("grep", "pattern", "needle"), "other")
	w.says(w.call("grep", "pattern", "x", "path", "notes.md"), "not a regular file")
}
