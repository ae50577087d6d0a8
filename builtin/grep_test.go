package builtin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
)

func TestGrep(t *testing.T) {
	w := newWorld(t)
	w.put("a.go", "package a\n\nfunc Foo() {\n\tbar()\n}\n\nfunc Baz() {}\n")
	w.put("sub/b.txt", "foo\r\nFOO bar\r\nlast foo\r\n")
	w.put("l1.yml", "# se\xf1or foo\n")
	w.put("wide", "\xff\xfef\x00o\x00o\x00\n\x00")
	w.put("bin", "foo\x00foo\n")
	w.put("skip.log", "foo\n")
	w.put(".gitignore", "*.log\n")
	w.put(".hidden/c.go", "foo\n")
	w.put("node_modules/x.go", "foo\n")
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"pattern", "Foo"}, "a.go\n     3:\tfunc Foo() {"},
		{[]any{"pattern", "^func", "context", 1, "glob", "*.go"}, "a.go\n     2-\t\n     3:\tfunc Foo() {\n     4-\t\tbar()\n    --\n     6-\t\n     7:\tfunc Baz() {}"},
		{[]any{"pattern", "^func|bar", "context", 1, "path", "a.go"}, "a.go\n     2-\t\n     3:\tfunc Foo() {\n     4:\t\tbar()\n     5-\t}\n     6-\t\n     7:\tfunc Baz() {}"},
		{[]any{"pattern", "foo$", "path", "sub"}, "sub/b.txt\n     1:\tfoo\n     3:\tlast foo"},
		{[]any{"pattern", "foo", "mode", "files"}, ".hidden/c.go\nl1.yml\nsub/b.txt\nwide"},
		{[]any{"pattern", "(?i)foo", "mode", "count"}, ".hidden/c.go:1\na.go:1\nl1.yml:1\nsub/b.txt:3\nwide:1"},
		{[]any{"pattern", "señor"}, "l1.yml\n     1:\t# señor foo"},
		{[]any{"pattern", "foo", "glob", "sub/*"}, "sub/b.txt\n     1:\tfoo\n     3:\tlast foo"},
		{[]any{"pattern", "foo", "glob", "**/*.{txt,yml}", "mode", "files"}, "l1.yml\nsub/b.txt"},
		{[]any{"pattern", "foo", "path", "skip.log"}, "skip.log\n     1:\tfoo"},
		{[]any{"pattern", "foo", "path", "node_modules"}, "node_modules/x.go\n     1:\tfoo"},
		{[]any{"pattern", `\Afoo\z`, "path", "sub"}, "sub/b.txt\n     1:\tfoo"}, // of a line, not of the file
		{[]any{"pattern", `FOO\s+last`, "path", "sub"}, "(no matches)"},         // never over a line end
		{[]any{"pattern", `o\s`, "path", "sub"}, "(no matches)"},
		{[]any{"pattern", "nowhere"}, "(no matches)"},
	} {
		r := w.call("grep", c.args...)
		w.ok(r)
		if got := r.ContentText(); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	w.says(w.call("grep", "pattern", "nowhere"), "not searched because ignored: node_modules/", "1 match left out because ignored", "bin (binary)")
	w.says(w.call("grep", "pattern", "foo", "path", "bin"), "(no matches)", "bin (binary)")
	out := structured[grepOutput](t, w.call("grep", "pattern", "Foo", "context", 1))
	if len(out.Lines) != 3 || out.Lines[1] != (grepLine{Path: "a.go", Line: 3, Text: "func Foo() {"}) || !out.Lines[0].Context || out.Files[0] != (grepFile{"a.go", 1}) {
		t.Fatalf("%+v", out)
	}
}

func TestGrepRefuses(t *testing.T) {
	w := newWorld(t)
	w.put("src/a", "x")
	for pattern, says := range map[string]string{
		"foo(":         "missing closing )",
		"a(?=b)":       `at character 2 ("(?=`,
		`(a)\1`:        "RE2 has no back references",
		"x**":          "at character 2",
		"[z-a]":        "at character 2",
		"a{1001}":      "repeat",
		"(?<name>x":    "missing closing )",
		"日本(?P<x>[":    "at character",
		`\p{Nonsense}`: "invalid character class",
	} {
		w.fails(w.call("grep", "pattern", pattern), callgate.ExecutionError, "not an RE2 expression", says)
	}
	w.fails(w.call("grep", "pattern", "x", "path", "scr"), callgate.ExecutionError, "no such file")
	w.fails(w.call("grep", "pattern", "x", "path", "../y"), callgate.ExecutionError, "outside the workspace")
	w.fails(w.call("grep", "pattern", "x", "glob", "../*"), callgate.ExecutionError, "may not contain")
	w.fails(w.call("grep", "pattern", "x", "mode", "list"), callgate.InvalidArguments, "/mode")
}

func TestGrepStopsAtItsCaps(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.put(fmt.Sprintf("f%02d", i), strings.Repeat("hit\n", 30))
	}
	r := w.call("grep", "pattern", "hit")
	w.says(r, "more matches than are shown")
	out := structured[grepOutput](t, r)
	if len(out.Lines) != 250 || !out.Truncated || out.Lines[249].Path != "f08" || out.Lines[249].Line != 10 {
		t.Fatalf("%d lines, last %+v", len(out.Lines), out.Lines[len(out.Lines)-1])
	}
	w.put("long", strings.Repeat(strings.Repeat("x", 3_000)+"needle"+strings.Repeat("y", 3_000)+"\n", 300))
	r = w.call("grep", "pattern", "needle")
	if w.ok(r); r.Truncated {
		t.Fatal("the dispatcher had to cut what the tool should have")
	}
	for line := range strings.SplitSeq(r.ContentText(), "\n") {
		if len(line) > 600 || len(line) > 10 && !strings.Contains(line, "needle") {
			t.Fatalf("a line of %d bytes: %.80s", len(line), line)
		}
	}
}

// An expression that could reach over line ends costs no more than another, and
// a search ends when its time is over.
func TestGrepCannotBeMadeSlow(t *testing.T) {
	text := strings.Repeat("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 200_000) + "y"
	m, err := newMatcher(`[^x]*y`)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	line, _, ok := m.next(t.Context(), text, 0)
	if !ok || line.to-line.from != 1 {
		t.Fatalf("found %v, %v", line, ok)
	}
	if d := time.Since(start); d > 20*time.Second { // hours, if each line went to the end
		t.Errorf("took %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, ok := m.next(ctx, text, 0); ok {
		t.Error("the search went on")
	}
	w := newWorld(t)
	w.put("f", "x")
	for _, call := range []callgate.Call{propose("grep", "pattern", "x"), propose("grep", "pattern", "x", "path", "f"), propose("glob", "pattern", "**")} {
		r := w.gate.Dispatch(ctx, w.tools, callgate.Calls(call))[0]
		w.fails(r, callgate.Canceled)
	}
}

// Searching a whole text at once finds the lines that searching each line does.
func TestGrepEqualsLineByLine(t *testing.T) {
	patterns := []string{"a", "^a", "a$", "^$", "b*", `a\s`, "[^x]", `\bab\b`, "(?i)AB", `\Aa`, `a\z`, "a|^b", `(?s)a.b`, "a\n", `\s*$`, "(?-m)^a$", "ab|b\na", `a[\n]b`, `[\n]`, `a[^b]*`, `(?s).*b`, `\Bb`}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3_000 {
		text := make([]byte, r.IntN(12))
		for i := range text {
			text[i] = "ab \n\n"[r.IntN(5)]
		}
		for _, p := range patterns {
			m, err := newMatcher(p)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []int
			for from := 0; ; {
				line, _, ok := m.next(t.Context(), string(text), from)
				if !ok {
					break
				}
				got = append(got, lineAt(string(text), line.from))
				from = line.to + 1
			}
			re := regexp.MustCompile(p)
			for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				if len(text) > 0 && re.MatchString(line) {
					want = append(want, i+1)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q in %q: lines %v, want %v", p, text, got, want)
			}
		}
	}
}
