package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// walk lists a walk as one line: "d/" is a directory, "l@" a link, "x!" ignored, "p?" an error.
func walk(t testing.TB, w *Workspace, opts WalkOptions) string {
	t.Helper()
	var names []string
	for e, err := range w.Walk(context.Background(), opts) {
		n := e.Path
		switch {
		case e.IsDir():
			n += "/"
		case e.IsLink():
			n += "@"
		}
		if e.Ignored {
			n += "!"
		}
		if err != nil {
			n += "?"
		}
		names = append(names, n)
	}
	return strings.Join(names, " ")
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		opts  WalkOptions
		want  string
	}{
		{"byte order, directories first named then entered",
			map[string]string{"b": "", "a/z": "", "a/B": "", "a.txt": "", "Z": ""}, WalkOptions{}, "Z a/ a/B a/z a.txt b"},
		{"H150: dot directories are seen, .git is not",
			map[string]string{".github/workflows/ci.yml": "", "a/.cfg/x.yml": "", ".git/config": "", "sub/.git": "gitdir: x", ".env": ""}, WalkOptions{},
			".env .github/ .github/workflows/ .github/workflows/ci.yml a/ a/.cfg/ a/.cfg/x.yml sub/"},
		{"H152: links that lead in a circle are named once",
			map[string]string{"a/b/loop -> ../..": "", "a/b/f.go": "", "self -> self": ""}, WalkOptions{}, "a/ a/b/ a/b/f.go a/b/loop@ self@"},
		{"H153: a linked directory is reported, not entered",
			map[string]string{"real/f.md": "", "cat/foo -> ../real": ""}, WalkOptions{Start: "cat"}, "cat/foo@"},
		{"H153: a linked directory named outright is walked under that name",
			map[string]string{"real/f.md": "", "cat/foo -> ../real": ""}, WalkOptions{Start: "cat/foo"}, "cat/foo/f.md"},
		{"ignored files and directories are left out",
			map[string]string{".gitignore": "*.log\n/build/\n", "a.log": "", "build/x": "", "d/build/y": "", "d/b.log": ""}, WalkOptions{},
			".gitignore d/ d/build/ d/build/y"},
		{"or reported",
			map[string]string{".gitignore": "*.log\n/build/\n", "a.log": "", "build/x": "", "d/b.log": ""}, WalkOptions{Ignored: ReportIgnored},
			".gitignore a.log! build/! d/ d/b.log!"},
		{"or included",
			map[string]string{".gitignore": "/build/\n", "build/x/y": "", "z": ""}, WalkOptions{Ignored: IncludeIgnored},
			".gitignore build/! build/x/! build/x/y! z"},
		{"a file cannot be taken back from an ignored directory",
			map[string]string{".gitignore": "build/\n!build/keep\n", "build/keep": ""}, WalkOptions{}, ".gitignore"},
		{"nested files win over those above, those above over the exclude file",
			map[string]string{".git/info/exclude": "*.a\n*.b\n*.c\n", ".gitignore": "!*.b\n*.d\n", "d/.gitignore": "!*.d\n*.b\n",
				"1.a": "", "1.b": "", "1.d": "", "d/2.b": "", "d/2.d": "", "d/2.c": ""}, WalkOptions{},
			".gitignore 1.b d/ d/.gitignore d/2.d"},
		{"rules above the start hold below it",
			map[string]string{".gitignore": "*.log\n/d/e/secret\n", "d/.gitignore": "*.tmp\n", "d/e/a.log": "", "d/e/b.tmp": "", "d/e/c": "", "d/e/secret": ""},
			WalkOptions{Start: "d/e"}, "d/e/c"},
		{"H154: an ignored directory named outright is walked",
			map[string]string{".gitignore": "node_modules\nnode_modules/**\n", "node_modules/x/a.ts": "", "node_modules/x/.gitignore": "*.js\n", "node_modules/x/b.js": ""},
			WalkOptions{Start: "node_modules/x"}, "node_modules/x/.gitignore node_modules/x/a.ts"},
		{"and not reported as ignored",
			map[string]string{".gitignore": "out\n", "out/a": ""}, WalkOptions{Start: "out", Ignored: ReportIgnored}, "out/a"},
		{"an ignored file named outright is there",
			map[string]string{".gitignore": "*.log\n", "a.log": ""}, WalkOptions{Start: "a.log"}, "a.log"},
		{"a linked .gitignore is not followed, as in git",
			map[string]string{"rules": "*.log\n", ".gitignore -> rules": "", "a.log": ""}, WalkOptions{}, ".gitignore@ a.log rules"},
		{"a .gitignore of more than 1 MiB is ignored whole",
			map[string]string{".gitignore": "a\n" + strings.Repeat("#", 1<<20), "a": ""}, WalkOptions{}, ".gitignore a"},
		{"Enter leaves directories out",
			map[string]string{"a/b/c": "", "d/e": ""}, WalkOptions{Enter: func(e Entry) bool { return e.Path != "a" }}, "a/ d/ d/e"},
		{"files of writers under way are not shown",
			map[string]string{"d/.callgate-" + strings.Repeat("A", idLen) + ".tmp": "", "d/.callgate-mine.tmp": ""}, WalkOptions{}, "d/ d/.callgate-mine.tmp"},
		{"H148: a start outside is an error, whether it exists or not", nil, WalkOptions{Start: "../outside"}, "../outside?"},
		{"H148: as is an absolute one", nil, WalkOptions{Start: "/etc"}, "/etc?"},
		{"H148: or one that climbs later", map[string]string{"a/": ""}, WalkOptions{Start: "a/../../outside"}, "a/../../outside?"},
		{"H148: or a link", map[string]string{"a -> /etc": ""}, WalkOptions{Start: "a"}, "a?"},
		{"H161: a tilde is a name", nil, WalkOptions{Start: "~"}, "~?"},
		{"a missing start is an error", nil, WalkOptions{Start: "nosuch/dir"}, "nosuch/dir?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := walk(t, mustOpen(t, tree(t, c.files)), c.opts); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// H148: the refusal is the same text whether or not the outside file is there.
func TestWalkOutsideTellsNothing(t *testing.T) {
	base := tree(t, map[string]string{"w/": "", "there/x": ""})
	w := mustOpen(t, filepath.Join(base, "w"))
	answer := func(start string) string {
		for _, err := range w.Walk(context.Background(), WalkOptions{Start: start}) {
			return strings.ReplaceAll(err.Error(), start, "START")
		}
		return ""
	}
	if a, b := answer("../there"), answer("../not"); a != b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := answer(base+"/there"), answer(base+"/not"); a != b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
}

// H154: what is ignored is not read. 2,000 directories lie in node_modules; three are read.
func TestWalkPrunesBeforeDescent(t *testing.T) {
	dir := tree(t, map[string]string{".gitignore": "node_modules/\n", "src/a.ts": "", "src/b/c.ts": ""})
	for i := range 2000 {
		fill(t, dir, map[string]string{fmt.Sprintf("node_modules/p%d/f.ts", i): ""})
	}
	w := mustOpen(t, dir)
	reads := 0
	w.sawDir = func(string) { reads++ }
	got := walk(t, w, WalkOptions{Ignored: ReportIgnored})
	if want := ".gitignore node_modules/! src/ src/a.ts src/b/ src/b/c.ts"; got != want || reads != 3 {
		t.Errorf("%d directory reads: %s", reads, got)
	}
	if got := walk(t, w, WalkOptions{Start: "node_modules/p7"}); got != "node_modules/p7/f.ts" {
		t.Error(got)
	}
}

func TestWalkStopsWithItsContext(t *testing.T) {
	w := mustOpen(t, tree(t, map[string]string{"a": "", "b": "", "c/d": ""}))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var seen []string
	var last error
	for e, err := range w.Walk(ctx, WalkOptions{}) {
		if err != nil {
			last = err
			continue
		}
		seen = append(seen, e.Path)
		cancel()
	}
	if len(seen) != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("saw %v, then %v", seen, last)
	}
	for range w.Walk(context.Background(), WalkOptions{}) {
		break // a consumer may stop too
	}
}

func TestEntryInfo(t *testing.T) {
	dir := tree(t, map[string]string{"real/f": "12345", "l -> real": ""})
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "real/f"), when, when); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, dir)
	for e, err := range w.Walk(context.Background(), WalkOptions{Start: "l"}) {
		if err != nil {
			t.Fatal(err)
		}
		st, err := e.Info()
		if err != nil || e.Path != "l/f" || st.Size() != 5 || !st.ModTime().Equal(when) {
			t.Errorf("%s: %v, %v", e.Path, st, err)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		for j := range 20 {
			fill(b, dir, map[string]string{fmt.Sprintf("a/b/d%d/f%d.go", i, j): ""})
		}
	}
	fill(b, dir, map[string]string{".gitignore": "node_modules/\n*.log\n/dist/\n**/tmp/*.x\n"})
	w := mustOpen(b, dir)
	for b.Loop() {
		n := 0
		for range w.Walk(context.Background(), WalkOptions{}) {
			n++
		}
		if n != 4203 {
			b.Fatal(n)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	w := mustOpen(b, tree(b, map[string]string{"a/b/c/f": strings.Repeat("x", 4096)}))
	for b.Loop() {
		if _, err := w.ReadFile("a/b/c/f", 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteFile(b *testing.B) {
	w := mustOpen(b, tree(b, map[string]string{"a/b/c/f": ""}))
	data := []byte(strings.Repeat("x", 4096))
	for b.Loop() {
		if err := w.WriteFile("a/b/c/f", data, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
