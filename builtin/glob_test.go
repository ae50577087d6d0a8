package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/workspace"
)

// found returns the paths that a glob lists, sorted as they came.
func (w *world) found(args ...any) string {
	w.t.Helper()
	r := w.call("glob", args...)
	w.ok(r)
	return strings.Join(strings.Split(r.ContentText(), "\n"), " ")
}

func TestGlob(t *testing.T) {
	w := newWorld(t)
	old := time.Now().Add(-time.Hour)
	for i, name := range []string{
		".github/workflows/ci.yml", "a/.cfg/x.yml", "b.yml", "src/a.go", "src/deep/b.go", "src/[odd].go", "debug.log", "build/out.go",
	} { // each newer than the one before
		w.put(name, "x")
		if err := os.Chtimes(w.path(name), old, old.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	w.put(".gitignore", "*.log\nbuild/\n")
	w.put(".git/config.yml", "x")
	for _, c := range []struct {
		pattern, path string
		want          string
		says          string
	}{
		{"b.yml", "", "b.yml", ""},
		{".github/workflows/*.yml", "", ".github/workflows/ci.yml", ""}, // H150
		{".github/**/*.yml", "", ".github/workflows/ci.yml", ""},
		{"a/.cfg/*", "", "a/.cfg/x.yml", ""},
		{"**/*.yml", "", "b.yml a/.cfg/x.yml .github/workflows/ci.yml", ""}, // newest first, .git not seen
		{"src/**/*.go", "", "src/[odd].go src/deep/b.go src/a.go", ""},
		{"src/{a,deep/b}.go", "", "src/deep/b.go src/a.go", ""},
		{"src/{a,{deep/b,none}}.go", "", "src/deep/b.go src/a.go", ""},
		{`src/\[odd\].go`, "", "src/[odd].go", ""},
		{"*.go", "src", "src/[odd].go src/a.go", ""},
		{"./*.go", "./src/", "src/[odd].go src/a.go", ""},
		{w.dir + "/src/*.go", "", "src/[odd].go src/a.go", ""},
		{w.dir + "/b.yml", "", "b.yml", ""},
		{"src/?.go", "", "src/a.go", ""},
		{"src/[!b-z[].go", "", "src/a.go", ""},
		{"*/", "src", "src/deep/", ""},
		{"**/", "src", "src/deep/", ""},
		{"src/*", "", "src/deep/ src/[odd].go src/a.go", ""},
		{"*.none", "", "(no matches)", ""},
		{"*.log", "", "(no matches)", "1 match left out because ignored"},
		{"**/out.go", "", "(no matches)", "not searched because ignored: build/"},
		{"build/*.go", "", "build/out.go", ""}, // named outright
		{"*.go", "build", "build/out.go", ""},
		{"debug.log", "", "debug.log", ""},
	} {
		args := []any{"pattern", c.pattern}
		if c.path != "" {
			args = append(args, "path", c.path)
		}
		if got := w.found(args...); got != c.want {
			t.Errorf("%s in %q: %s, want %s", c.pattern, c.path, got, c.want)
		}
		w.says(w.call("glob", args...), c.says)
	}
	if got := w.found("pattern", "**/*.{log,go}", "path", "build", "include_ignored", true); got != "build/out.go" {
		t.Error(got)
	}
	if got := w.found("pattern", "*.log", "include_ignored", true); got != "debug.log" {
		t.Error(got)
	}
}

func TestGlobRefuses(t *testing.T) {
	w := newWorld(t)
	w.put("src/a.go", "x")
	for _, c := range []struct {
		pattern, path string
		says          []string
	}{
		{"a[b", "", []string{"not a valid pattern"}},
		{"a{b", "", []string{"brace that is not closed"}},
		{"a}b", "", []string{"without an opening one"}},
		{"/", "", []string{"outside"}},
		{"./", "", []string{"names nothing"}},
		{strings.Repeat("{a,b}", 9), "", []string{"more than 256 patterns"}},
		{"*", "scr", []string{"no such file", "src/"}},
		{"*", "src/a.go", []string{"not a directory"}},
		{"*", "../x", []string{"outside the workspace"}},
	} {
		args := []any{"pattern", c.pattern}
		if c.path != "" {
			args = append(args, "path", c.path)
		}
		w.fails(w.call("glob", args...), callgate.ExecutionError, c.says...)
	}
}

// What a pattern says of the outside is the same whether or not it exists (H148).
func TestGlobTellsNothingOfTheOutside(t *testing.T) {
	top := t.TempDir()
	w := worldAt(t, mkdir(t, top, "ws"))
	w.put("a/x", "x")
	w.link("a/out", "../../outside")
	patterns := []string{"../outside/*", "/etc/host*", "a/../../outside/*", "{../outside,x}/*", top + "/outside/*", "a/out/*", "**/secret.txt", "~/*"}
	ask := func() (answers []string) {
		for _, p := range patterns {
			r := w.call("glob", "pattern", p)
			if strings.Contains(r.ContentText(), "secret") {
				t.Errorf("%s: %s", p, r.ModelText())
			}
			answers = append(answers, r.ModelText())
		}
		return answers
	}
	without := ask()
	if err := os.WriteFile(filepath.Join(mkdir(t, top, "outside"), "secret.txt"), []byte("s"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, with := range ask() {
		if with != without[i] {
			t.Errorf("%s: %q with the outside file, %q without", patterns[i], with, without[i])
		}
	}
}

func mkdir(t *testing.T, parts ...string) string {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGlobAndLinks(t *testing.T) {
	w := newWorld(t)
	w.put("real/f.md", "x")
	w.link("cat/foo", "../real")
	w.put("a/b/f.go", "x")
	w.link("a/b/loop", "../..")
	w.link("self", "self")
	for _, p := range []string{"cat/**/*.md", "cat/foo/*.md"} { // H153
		r := w.call("glob", "pattern", p)
		w.ok(r)
		w.says(r, "linked directories are not entered: cat/foo (leads to real)", "give one as path")
	}
	if got := w.found("pattern", "*.md", "path", "cat/foo"); got != "cat/foo/f.md" {
		t.Error(got)
	}
	start := time.Now()
	if got := w.found("pattern", "**/*.go"); got != "a/b/f.go" { // H152
		t.Error(got)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v", d)
	}
	if got := w.found("pattern", "sel*"); got != "self" {
		t.Error(got)
	}
}

// Ignored trees are left out before they are read (H154).
func TestGlobPrunes(t *testing.T) {
	w := newWorld(t)
	w.put("src/a.ts", "x")
	for i := range 200 {
		w.put(fmt.Sprintf("node_modules/p%d/i.ts", i), "x")
		w.put(fmt.Sprintf("target/p%d/i.ts", i), "x")
	}
	w.put(".gitignore", "target\n")
	for _, c := range []struct {
		pattern string
		matches int
		dirs    int // at most
	}{
		{"**/*.ts", 1, 3},
		{"src/*.ts", 1, 2},
		{"*.ts", 0, 1},
		{"node_modules/p7/*.ts", 1, 3}, // named outright
		{"target/p{7,8}/*.ts", 2, 4},
		{"node_modules/*/i.ts", 200, 202},
	} {
		s, err := w.files.newSearch("", c.pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := s.walk(t.Context(), func(workspace.Entry) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		if n != c.matches || s.dirs > c.dirs {
			t.Errorf("%s: %d matches, want %d; %d directories read, want at most %d", c.pattern, n, c.matches, s.dirs, c.dirs)
		}
	}
	w.says(w.call("glob", "pattern", "**/*.tsx"), "(no matches)", "not searched because ignored: node_modules/, target/", "include_ignored")
}

func TestGlobListsTheNewestHundred(t *testing.T) {
	w := newWorld(t)
	base := time.Now().Add(-time.Hour)
	for i := range 1_234 {
		name := fmt.Sprintf("f%04d", (i*577)%1_234) // not in the order of the walk
		w.put(name, "")
		if err := os.Chtimes(w.path(name), base, base.Add(time.Duration((i*577)%1_234)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	r := w.call("glob", "pattern", "**")
	w.says(r, "these are the 100 newest of 1234 matches")
	got := strings.Split(r.ContentText(), "\n")
	if len(got) != 100 || got[0] != "f1233" || got[99] != "f1134" {
		t.Fatalf("%d: %s … %s", len(got), got[0], got[len(got)-1])
	}
	if out := structured[globOutput](t, r); out.Total != 1_234 || len(out.Matches) != 100 || out.Matches[0].Path != "f1233" || out.Matches[0].Type != "file" {
		t.Fatalf("%d %+v", out.Total, out.Matches[0])
	}
}

func TestExpandBraces(t *testing.T) {
	for pattern, want := range map[string]string{
		"a": "a", "{a,b}": "a b", "x{a,b}y": "xay xby", "{a,b}{c,d}": "ac ad bc bd", "{a,{b,c}d}": "a bd cd", "{a}": "a", "{,a}b": "b ab",
		`\{a,b\}`: `\{a,b\}`, "[{]a": "[{]a",
	} {
		got, err := expandBraces(pattern)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q %v, want %q", pattern, got, err, want)
		}
	}
}
