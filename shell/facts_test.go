package shell_test

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/shell"
	"mvdan.cc/sh/v3/syntax"
)

// A record of testdata/lines.txt.
type record struct {
	at                   int // line of the table
	verdict, line, facts string
}

func table(t testing.TB) (records []record) {
	f, err := os.Open("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		switch text := in.Text(); {
		case strings.HasPrefix(text, "   "):
			records[len(records)-1].facts = strings.TrimSpace(text)
		case text == "" || text[0] == '#':
		default:
			verdict, line, _ := strings.Cut(text, " ")
			if line[0] == '"' {
				if line, err = strconv.Unquote(line); err != nil {
					t.Fatalf("testdata/lines.txt:%d: %v", n, err)
				}
			}
			records = append(records, record{at: n, verdict: verdict, line: line})
		}
	}
	if len(records) < 150 {
		t.Fatalf("%d lines in the table, want at least 150", len(records))
	}
	return records
}

// The table holds the facts half of the cases H173 (every command of a chain),
// H174 (substitutions), H176 (borders of words, redirections), H177 (spellings
// and assignments) and H180 (wrappers).
func TestLines(t *testing.T) {
	for _, r := range table(t) {
		f, err := shell.Parse(r.line)
		if (err != nil) != (r.verdict == "error") {
			t.Errorf("lines.txt:%d: %s: error %v", r.at, r.line, err)
			continue
		}
		if err != nil {
			continue
		}
		if got := describe(f); got != r.facts {
			t.Errorf("lines.txt:%d: %s\ngot  %s\nwant %s", r.at, r.line, got, r.facts)
		}
	}
}

// describe writes facts in the notation of the table.
func describe(f shell.Facts) string {
	var out []string
	for _, c := range f.Commands {
		var b strings.Builder
		for _, v := range c.Via {
			b.WriteString(v + ">")
		}
		b.WriteByte('[')
		for i, a := range c.Assigns {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(a.Name + "=" + bare(a.Value))
		}
		if len(c.Assigns) > 0 {
			b.WriteByte(':')
		}
		for i, w := range c.Words {
			if i > 0 || len(c.Assigns) > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(word(w))
		}
		b.WriteByte(']')
		b.WriteString(where(c.Dirs))
		if c.Background {
			b.WriteByte('&')
		}
		out = append(out, b.String())
	}
	for _, r := range f.Redirects {
		out = append(out, r.FD+r.Op+word(r.Target)+where(r.Dirs))
	}
	for _, o := range f.Opaque {
		out = append(out, "!"+string(o.Kind))
	}
	return strings.Join(out, " ")
}

func where(dirs []string) string {
	switch {
	case dirs == nil:
		return "@?"
	case slices.Equal(dirs, []string{"."}):
		return ""
	}
	return "@" + strings.Join(dirs, "|")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

func word(w shell.Word) string {
	switch {
	case w.Why != 0:
		return "?" + w.Why.String()
	case plain.MatchString(w.Text):
		return w.Text
	}
	return strconv.Quote(w.Text)
}

func bare(w shell.Word) string {
	if w.Why == 0 && w.Text == "" {
		return ""
	}
	return word(w)
}

// What is written back by the printer of the grammar means the same.
func TestPrintedLinesMeanTheSame(t *testing.T) {
	for _, r := range table(t) {
		if r.verdict != "error" {
			samePrinted(t, r.line)
		}
	}
}

func samePrinted(t *testing.T, line string) {
	t.Helper()
	f, err := shell.Parse(line)
	if err != nil || slices.ContainsFunc(f.Opaque, func(o shell.Opaque) bool { return o.Kind == shell.OpaqueDialect }) {
		return // the printer settles what shells disagree on
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, file); err != nil {
		return // some trees cannot be printed
	}
	g, err := shell.Parse(b.String())
	if err != nil {
		t.Errorf("%q is printed as %q: %v", line, b.String(), err)
	} else if describe(f) != describe(g) {
		t.Errorf("%q is printed as %q:\nbefore %s\nafter  %s", line, b.String(), describe(f), describe(g))
	}
}
