package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/workspace"
)

// A picture that no provider takes would fail every later turn of the session.
func TestReadOfATooLargeImage(t *testing.T) {
	w := newWorld(t)
	w.put("big.gif", "GIF89a\x01\x00\x01\x00\x80\x00\x00"+strings.Repeat("\x00", maxImageBytes)+";")
	w.fails(w.call("read_file", "path", "big.gif"), callgate.ExecutionError, "image/gif", fmt.Sprintf("at most %d", maxImageBytes))
}

func TestGlobStaysBelowTheOutputLimit(t *testing.T) {
	w := newWorld(t)
	deep := strings.Repeat(strings.Repeat("d", 200)+"/", 4)
	for i := range maxMatches {
		w.put(fmt.Sprintf("%sf%d", deep, i), "")
	}
	r := w.call("glob", "pattern", "**")
	if w.ok(r); r.Truncated {
		t.Fatal("the dispatcher had to cut what the tool should have")
	}
	w.says(r, "matches not shown")
}

func TestEditNamesSoManyPlaces(t *testing.T) {
	w := newWorld(t)
	w.put("f", strings.Repeat("same\n", 5_000))
	r := w.call("edit_file", "path", "f", "old_text", "same", "new_text", "x")
	w.fails(r, callgate.ExecutionError, "at lines 1, 2, ", "19, 20 and more;")
	w.put("g", strings.Repeat("same  \n", 5_000))
	r = w.call("edit_file", "path", "g", "old_text", "same \n", "new_text", "x")
	w.fails(r, callgate.ExecutionError, "at lines 1, 2, ")
	if n := len(r.ModelText()); n > 1_000 {
		t.Fatalf("%d bytes", n)
	}
}

func TestFindStopsWhenItHasEnough(t *testing.T) {
	text := strings.Repeat("a", 1_000)
	if n := len(edit{old: "aa"}.find(text)); n != maxSpots+1 {
		t.Errorf("%d places", n)
	}
	if n := len(edit{old: "aa", all: true}.find(text)); n != 500 {
		t.Errorf("%d places to replace", n)
	}
}

func TestDistanceGivesUp(t *testing.T) {
	a, b := make([]int, 3_000), make([]int, 3_000)
	for i := range a {
		a[i], b[i] = i, -i-1
	}
	if d, ok := distance(a, b); ok {
		t.Fatalf("counted %d edits", d)
	}
	if d, ok := distance(a[:maxEdits/2], b[:maxEdits/2]); !ok || d != maxEdits {
		t.Fatalf("%d, %v", d, ok)
	}
}

func TestMissingLooksOnlySoFar(t *testing.T) {
	w := newWorld(t)
	for i := range maxNear {
		w.put(fmt.Sprintf("a/%d", i), "")
	}
	w.put("z/wanted.txt", "")
	r := w.call("read_file", "path", "wanted.txt")
	w.fails(r, callgate.ExecutionError, "use glob to find it")
}

// What a file says is shown, and the tools do not choke on what it is called.
func TestOddNames(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"with blank.txt", "quote\"d.txt", "new\nline.txt", "日本語.txt", "-rf", "[x].go", "~", "a:b"} {
		r := w.call("write_file", "path", name, "content", "needle\n")
		w.ok(r)
		w.has(name, "needle\n")
		w.ok(w.call("edit_file", "path", name, "old_text", "needle", "new_text", "thread"))
		if got := w.ok(w.call("read_file", "path", name)); got != "     1\tthread" {
			t.Errorf("%q: %q", name, got)
		}
	}
	r := w.call("grep", "pattern", "thread", "mode", "files")
	if out := structured[grepOutput](t, r); len(out.Files) != 8 {
		t.Errorf("%+v", out.Files)
	}
	w.says(r, "\"new\\nline.txt\"")
	w.says(w.call("glob", "pattern", "new*"), "\"new\\nline.txt\"")
}

// A match that is shown must not hide that the file which was meant was not searched. H153 has this kind.
func TestGrepNamesTheFileThatIsTooLarge(t *testing.T) {
	w := newWorld(t)
	w.put("small", "needle\n")
	w.put("bin", "needle\x00")
	w.put("big.log", "needle\n")
	if err := os.Truncate(filepath.Join(w.dir, "big.log"), workspace.DefaultReadLimit+1); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"content", "files", "count"} {
		r := w.call("grep", "pattern", "needle", "mode", mode)
		w.says(r, "small", "not searched: big.log (too large)")
		if strings.Contains(r.ModelText(), "bin") {
			t.Errorf("%s: a binary file is noise beside a match: %s", mode, r.ModelText())
		}
	}
}
