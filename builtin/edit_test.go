package builtin

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate"
)

func TestEdit(t *testing.T) {
	dollars := "$& $1 $$ ${0} \\1 $`"
	for _, c := range []struct {
		name, file, old, new string
		want                 string
		says                 string
	}{
		{"one place", "one\ntwo\n", "two", "TWO", "one\nTWO\n", "     2\tTWO"},
		{"deletes", "one\ntwo\n", "two\n", "", "one\n", "+0 -1 lines"},
		{"H128: dollars are no groups", "echo old\n", "old", dollars, "echo " + dollars + "\n", "     1\techo $&"},
		{"H125: CRLF in the file, LF in the call", "one\r\ntwo\r\nthree\r\n", "one\ntwo", "ONE\nTWO", "ONE\r\nTWO\r\nthree\r\n", "     2\tTWO\n     3\tthree"},
		{"a line more in a CRLF file", "one\r\ntwo\r\n", "two", "two\n2", "one\r\ntwo\r\n2\r\n", ""},
		{"CRLF on both sides", "one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", "1\r\n2\r\n", ""},
		{"a line end alone in a CRLF file", "a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n", ""},
		{"joins lines of a CRLF file", "a\r\nb\r\n", "a\nb", "ab", "ab\r\n", ""},
		{"mixed: each place keeps its ends", "a\r\nb\nc\n", "b\nc", "B\nC", "a\r\nB\nC\n", ""},
		{"mixed: the other place", "a\r\nb\nc\n", "a", "A\nA", "A\r\nA\r\nb\nc\n", ""},
		{"CRLF in the call, LF in the file", "a\nb\n", "a\r\nb", "A\r\nB", "A\nB\n", "CRLF where the file has LF"},
		{"H135: Latin-1 stays", "n: 5\n# se\xf1or\n", "n: 5", "n: 6", "n: 6\n# se\xf1or\n", ""},
		{"Latin-1 letters match", "# se\xf1or\n", "señor", "señora", "# se\xf1ora\n", ""},
		{"damaged UTF-8 stays", "é\xff é\nx\n", "x", "y", "é\xff é\ny\n", ""},
		{"UTF-16", "\xff\xfea\x00\n\x00", "a", "é", "\xff\xfe\xe9\x00\n\x00", "     1\té"},
		{"a byte order mark stays", "\xef\xbb\xbfa\n", "a", "b", "\xef\xbb\xbfb\n", ""},
		{"trailing blanks do not count", "if x {  \n\ty()\n}\n", "if x {\n\ty()\n}", "z()", "z()\n", "did not match exactly"},
		{"nor does the style of quotation marks", "say “hi”\n", `say "hi"`, `say "ho"`, "say \"ho\"\n", "did not match exactly"},
		{"no line end at the end of the file", "a\nb  ", "a\nb\n", "c\n", "c\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("f", c.file)
			r := w.call("edit_file", "path", "f", "old_text", c.old, "new_text", c.new)
			w.ok(r)
			w.has("f", c.want)
			w.says(r, "Edited f: 1 replacement", c.says)
		})
	}
}

func TestEditRefuses(t *testing.T) {
	for _, c := range []struct {
		name, file, old, new string
		all                  bool
		says                 []string
	}{
		{"H130: an empty text", "pqr", "", "-", true, []string{"old_text is empty"}},
		{"H132: no change", "one two", "two", "two", false, []string{"are the same"}},
		{"no change but for line ends", "a\r\nb\r\n", "a\n", "a\r\n", false, []string{"differ only in line ends"}},
		{"no change after all", "a  \nb\n", "a \nb", "a  \nb", false, []string{"already reads like new_text"}},
		{"two places", "a\nb\na\n", "a", "c", false, []string{"more than once, at lines 1, 3", "replace_all"}},
		{"places that overlap", "aaa\n", "aa", "b", false, []string{"more than once, at lines 1, 1"}},
		{"two places without blanks", "a \nb\na  \nb\n", "a\nb", "c", false, []string{"at lines 1, 3"}},
		{"replace_all is exact", "a \nb\n", "a\nc", "c", true, []string{"not in the file"}},
		{"replace_all is never loose", "a \nb\na  \nb\n", "a\nb", "c", true, []string{"at lines 1, 3", "copy the one you mean"}},
		{"never by likeness", "func Foo() {}\n", "func Fooo() {}", "x", false, []string{"nearest is line 1", "character 9"}},
		{"indentation", "a\n\tfoo()\n", "    foo()", "bar()", false, []string{"nearest is line 2", "1 tab in the file, 4 spaces in old_text"}},
		{"case", "Hello world\n", "hello world", "x", false, []string{"upper and lower case"}},
		{"one line of three differs", "a\nbb\nccc\n", "a\nbx\nccc", "x", false, []string{"nearest is line 2", `the file has "bb"`, `old_text has "bx"`}},
		{"goes on past the end", "first\nsecond\n", "second\nthird", "x", false, []string{"the file ends at line 2"}},
		{"nothing like it", "abc\n", "zzzzzzzzzz", "x", false, []string{"nothing in it is like old_text"}},
		{"line numbers copied", "one\ntwo\n", "     1\tone\n     2\ttwo", "x", false, []string{"line numbers"}},
		{"made before", "the new text\n", "the old words", "the new text", false, []string{"new_text is at line 1"}},
		{"an empty file", "", "a", "b", false, []string{"the file is empty"}},
		{"blank lines match no blank lines", "a\n\nb\n", "  \n", "x", false, []string{"not in the file"}},
		{"a character that the encoding lacks", "se\xf1or\n", "or", "中", false, []string{"Windows-1252 has no character '中'"}},
		{"a binary file", "a\x00b", "a", "b", false, []string{"binary"}},
		{"damaged UTF-16", "\xff\xfea\x00\x00\xd8", "a", "b", false, []string{"damaged UTF-16LE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("f", c.file)
			w.fails(w.call("edit_file", "path", "f", "old_text", c.old, "new_text", c.new, "replace_all", c.all), callgate.ExecutionError, c.says...)
			w.has("f", c.file)
		})
	}
	w := newWorld(t)
	w.put("src/main.go", "x")
	w.fails(w.call("edit_file", "path", "src/man.go", "old_text", "a", "new_text", "b"), callgate.ExecutionError, "no such file", "src/main.go")
	w.fails(w.call("edit_file", "path", "src", "old_text", "a", "new_text", "b"), callgate.ExecutionError, "directory")
	w.fails(w.call("edit_file", "path", "artifact:1", "old_text", "a", "new_text", "b"), callgate.ExecutionError, "kept output")
}

func TestEditReplacesAll(t *testing.T) {
	w := newWorld(t)
	w.put("f", "a b a\r\na\r\n")
	r := w.call("edit_file", "path", "f", "old_text", "a", "new_text", "aa", "replace_all", true)
	w.says(r, "3 replacements")
	w.has("f", "aa b aa\r\naa\r\n")
	out := structured[editOutput](t, r)
	if fmt.Sprint(out.Lines) != "[1 1 2]" || !out.Exact || out.Added != 2 || out.Removed != 2 {
		t.Fatalf("%+v", out)
	}
}

func TestEditShowsFourLinesAround(t *testing.T) {
	w := newWorld(t)
	w.put("f", lines(40))
	got := w.ok(w.call("edit_file", "path", "f", "old_text", "line 20", "new_text", "LINE"))
	want := "Edited f: 1 replacement (+1 -1 lines)\n    16\tline 16\n    17\tline 17\n    18\tline 18\n    19\tline 19\n" +
		"    20\tLINE\n    21\tline 21\n    22\tline 22\n    23\tline 23\n    24\tline 24"
	if got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	w.put("many", lines(20_000))
	r := w.call("edit_file", "path", "many", "old_text", "line", "new_text", "LINE", "replace_all", true)
	if w.ok(r); r.Truncated {
		t.Fatal("the dispatcher had to cut what the tool should have")
	}
	w.says(r, "not shown")
}

func TestEditKeepsTheMode(t *testing.T) { // H133
	if runtime.GOOS == "windows" {
		return // it has no such modes
	}
	w := newWorld(t)
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "s": 0o640} {
		w.put(name, "echo X\n")
		if err := os.Chmod(w.path(name), mode); err != nil {
			t.Fatal(err)
		}
		w.ok(w.call("edit_file", "path", name, "old_text", "X", "new_text", "Y"))
		w.ok(w.call("write_file", "path", name, "content", "echo Z\n"))
		st, err := os.Stat(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v", name, st.Mode().Perm(), mode)
		}
	}
}

// What somebody else changed is not overwritten (H137); what the session changed
// itself is no outside change (H139).
func TestStaleWrites(t *testing.T) {
	w := newWorld(t)
	w.put("a", "one\n")
	w.ok(w.call("read_file", "path", "a"))
	w.put("a", "somebody else's\n")
	w.fails(w.call("write_file", "path", "a", "content", "mine\n"), callgate.Conflict, "read it again")
	w.fails(w.call("edit_file", "path", "./a", "old_text", "else", "new_text", "x"), callgate.Conflict, "read it again")
	w.has("a", "somebody else's\n")
	w.ok(w.call("read_file", "path", "a"))
	w.ok(w.call("write_file", "path", "a", "content", "mine\n"))

	for i := range 3 {
		r := w.call("edit_file", "path", "a", "old_text", "mine", "new_text", fmt.Sprintf("mine %d", i))
		if w.ok(r); len(r.Notes) > 0 {
			t.Fatalf("edit %d: %v", i, r.Notes)
		}
	}
	// Another session has its own eyes.
	w.ok(w.callAs("other", "read_file", "path", "a"))
	w.ok(w.call("edit_file", "path", "a", "old_text", "mine", "new_text", "yours"))
	w.fails(w.callAs("other", "write_file", "path", "a", "content", "x"), callgate.Conflict)
	// The same under another name.
	w.link("l", "a")
	w.fails(w.callAs("other", "write_file", "path", "l", "content", "x"), callgate.Conflict)
	// Calls of no session remember nothing.
	anonymous := func(c callgate.Call) callgate.Result { return w.dispatch("", c)[0] }
	w.ok(anonymous(propose("read_file", "path", "a")))
	w.put("a", "x\n")
	w.ok(anonymous(propose("write_file", "path", "a", "content", "y\n")))
}

func TestMemoryIsBounded(t *testing.T) {
	m := memory{max: 3}
	for i := range 5 {
		m.saw("s", fmt.Sprint(i), digest{byte(i)})
		m.last("s", "0") // 0 stays in use
	}
	var known []string
	for i := range 5 {
		if _, ok := m.last("s", fmt.Sprint(i)); ok {
			known = append(known, fmt.Sprint(i))
		}
	}
	if got := strings.Join(known, " "); got != "0 3 4" || len(m.at) != 3 {
		t.Fatalf("knows %s", got)
	}
}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name, old, content, want string
		says                     []string
	}{
		{"replaces", "one\ntwo\n", "one\n2\nthree\n", "one\n2\nthree\n", []string{"Wrote 12 bytes to f (+2 -1 lines)", "never read in this session"}},
		{"keeps CRLF", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n", []string{"CRLF and were kept", "Wrote 6 bytes to f (+1 -1 lines)"}},
		{"takes CRLF as it is", "a\nb\n", "a\r\n", "a\r\n", []string{"end in CRLF now"}},
		{"keeps the mark", "\xef\xbb\xbfa\n", "b\n", "\xef\xbb\xbfb\n", []string{"byte order mark was kept"}},
		{"no second mark", "\xef\xbb\xbfa\n", "\ufeffb\n", "\xef\xbb\xbfb\n", nil},
		{"a mark that the model wants", "a\n", "\ufeffb\n", "\xef\xbb\xbfb\n", nil},
		{"keeps UTF-16", "\xfe\xff\x00a\x00\n", "é\n", "\xfe\xff\x00\xe9\x00\n", []string{"UTF-16BE, was kept"}},
		{"keeps Latin-1", "se\xf1or\n", "señora\n", "se\xf1ora\n", []string{"Windows-1252, was kept"}},
		{"leaves Latin-1 for what it lacks", "se\xf1or\n", "中\n", "中\n", []string{"is UTF-8 now"}},
		{"over a binary file", "a\x00b", "text\n", "text\n", []string{"was binary (3 bytes)"}},
		{"the same again", "same\n", "same\n", "same\n", []string{"already has this content"}},
		{"empties", "a\nb\n", "", "", []string{"Wrote 0 bytes to f (+0 -2 lines)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("f", c.old)
			r := w.call("write_file", "path", "f", "content", c.content)
			w.ok(r)
			w.has("f", c.want)
			w.says(r, c.says...)
		})
	}
	w := newWorld(t)
	r := w.call("write_file", "path", "new/deep/f.txt", "content", "a\nb\n")
	w.says(r, "Wrote 4 bytes to new/deep/f.txt (new file, 2 lines)")
	if out := structured[writeOutput](t, r); !out.Created || !out.Changed || out.Bytes != 4 || out.Added != 2 || out.Path != "new/deep/f.txt" {
		t.Fatalf("%+v", out)
	}
	w.has("new/deep/f.txt", "a\nb\n")
	w.fails(w.call("write_file", "path", "new", "content", "x"), callgate.ExecutionError, "directory")
	w.fails(w.call("write_file", "path", "../x", "content", "x"), callgate.ExecutionError, "outside the workspace")
	w.fails(w.call("write_file", "path", "artifact:12", "content", "x"), callgate.ExecutionError, "kept output")
	if err := os.Remove(w.path("new/deep/f.txt")); err != nil {
		t.Fatal(err)
	}
	w.says(w.call("write_file", "path", "new/deep/f.txt", "content", "c\n"), "was removed since")
}

func TestDiffstat(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          diffstat
	}{
		{"", "", diffstat{}},
		{"a\n", "a\n", diffstat{}},
		{"", "a\nb\n", diffstat{added: 2}},
		{"a\nb\n", "", diffstat{removed: 2}},
		{"a\nb\nc\n", "a\nc\n", diffstat{removed: 1}},
		{"a\nb\nc\n", "a\nx\nb\ny\nc\n", diffstat{added: 2}},
		{"a\nb\nc\nd\n", "b\na\nd\nc\n", diffstat{added: 2, removed: 2}},
		{"a", "a\n", diffstat{added: 1, removed: 1}},
		{lines(5_000), strings.ToUpper(lines(5_000)), diffstat{added: 5_000, removed: 5_000}},
	} {
		if got := compare(c.before, c.after); got != c.want {
			t.Errorf("%.20q to %.20q: %v, want %v", c.before, c.after, got, c.want)
		}
	}
}
