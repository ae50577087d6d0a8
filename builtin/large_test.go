package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/workspace"
)

func TestReadPagesKeptOutputs(t *testing.T) {
	store, err := artifact.Open(t.TempDir(), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := store.Put(t.Context(), strings.NewReader(lines(9_000)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	w := worldOf(t, dir, &Files{Workspace: ws, Artifacts: store})
	if got := strings.Join(followHints(t, w, kept.Ref()), "\n") + "\n"; got != lines(9_000) {
		t.Fatalf("%d bytes", len(got))
	}
	if out := structured[readOutput](t, w.call("read_file", "path", kept.Ref(), "limit", 1)); out.Path != kept.Ref() || out.Lines != 9_000 {
		t.Fatalf("%+v", out)
	}
	w.fails(w.call("read_file", "path", "artifact:../../x"), callgate.ExecutionError, "not the name of a kept output")
	w.fails(w.call("read_file", "path", "artifact:"+strings.Repeat("a", 20)), callgate.ExecutionError, "not kept any more")
	w.fails(newWorld(t).call("read_file", "path", kept.Ref()), callgate.ExecutionError, "no outputs are kept here")
}

func TestReadPagesALargeFile(t *testing.T) {
	w := newWorld(t)
	f, err := os.Create(w.path("big.log"))
	if err != nil {
		t.Fatal(err)
	}
	block := strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000)
	const blocks = workspace.DefaultReadLimit/1_000_000 + 2
	for range blocks {
		if _, err := f.WriteString(block); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprint(f, "the end")
	f.Close()
	r := w.call("read_file", "path", "big.log", "offset", blocks*10_000)
	w.says(r, fmt.Sprintf("%6d\tthe end", blocks*10_000+1), "the last line has no line end", fmt.Sprintf("%d bytes", blocks*1_000_000+7))
	w.fails(w.call("read_file", "path", "big.log", "offset", blocks*10_000+2), callgate.ExecutionError, fmt.Sprintf("the file has %d lines", blocks*10_000+1))
	w.fails(w.call("edit_file", "path", "big.log", "old_text", "end", "new_text", "x"), callgate.ExecutionError, "larger than")
	w.put("big.bin", "\x00\x01")
	if err := os.Truncate(w.path("big.bin"), workspace.DefaultReadLimit+10); err != nil {
		t.Fatal(err)
	}
	w.fails(w.call("read_file", "path", "big.bin"), callgate.ExecutionError, "binary file")
}
