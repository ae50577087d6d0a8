package shell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/shell"
)

// Every line is read in bounded time and space: what is over a limit is an
// error, and just below it is not.
func TestLimits(t *testing.T) {
	nest := func(n int) string {
		s := "rm x"
		for range n {
			s = "nice " + s
		}
		return s
	}
	scripts := func(n int) string {
		s := "rm x"
		for range n {
			s = "bash -c '" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
		return s
	}
	for _, r := range []struct {
		name, line string
		ok         bool
	}{
		{"64 KiB", "echo " + strings.Repeat("a", shell.MaxLine-5), true},
		{"64 KiB and a byte", "echo " + strings.Repeat("a", shell.MaxLine-4), false},
		{"100 parentheses", strings.Repeat("( ", 100) + "ls" + strings.Repeat(")", 100), true},
		{"101 parentheses", strings.Repeat("( ", 101) + "ls" + strings.Repeat(")", 101), false},
		{"32,000 parentheses", strings.Repeat("(", 32_000), false},
		{"400 commands in a chain", strings.Repeat("ls && ", 399) + "ls", true},
		{"600 commands in a chain", strings.Repeat("ls && ", 599) + "ls", false},
		{"3,000 commands", strings.Repeat("ls;", 3_000), true},
		{"20,000 commands", strings.Repeat("ls;", 20_000), false},
		{"5,000 words", "echo" + strings.Repeat(" a", 5_000), true},
		{"12,000 words", "echo" + strings.Repeat(" a", 12_000), false},
		{"5,000 words in wrappers", "nice nice nice echo" + strings.Repeat(" a", 5_000), false},
		{"6,000 tests", strings.Repeat("[[ a ]];", 6_000), false},
		{"not UTF-8 in quotes", "echo '\xff'", false},
		{"not UTF-8 in a comment", "ls # \xff", false},
		{"8 wrappers", nest(8), true},
		{"9 wrappers", nest(9), false},
		{"3 scripts", scripts(3), true},
		{"NUL", "ls \x00", false},
		{"not UTF-8", "ls \xc3(", false},
	} {
		start := time.Now()
		f, err := shell.Parse(r.line)
		if (err == nil) != r.ok {
			t.Errorf("%s: error %v", r.name, err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s took %v", r.name, d)
		}
		if err != nil && (len(f.Commands) > 0 || f.Line != r.line) {
			t.Errorf("%s: an error, and yet facts: %v", r.name, f.Commands)
		}
	}
	// A script that is too deep to read is opaque or an error, never unseen.
	f, err := shell.Parse(strings.Repeat("bash -c ", 1) + "'" + strings.Repeat("( ", 101) + "ls" + strings.Repeat(")", 101) + "'")
	if err == nil && len(f.Opaque) == 0 {
		t.Error("an inner script over a limit is not opaque")
	}
}

// Offsets point at what is meant.
func TestPositions(t *testing.T) {
	line := "ls -a | FOO=1 nice rm \"x y\" >out; bash -c 'eval z'; echo $((q))"
	f, err := shell.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) int { return strings.Index(line, s) }
	var got, want []int
	for _, c := range f.Commands {
		got = append(got, c.Pos)
	}
	want = append(want, at("ls"), at("FOO"), at("rm"), at("bash"), at("'eval"), at("echo"))
	for _, r := range f.Redirects {
		got = append(got, r.Pos)
	}
	want = append(want, at(">out"))
	for _, o := range f.Opaque {
		got = append(got, o.Pos)
	}
	want = append(want, at("'eval"), at("$((q))"))
	if len(got) != len(want) {
		t.Fatalf("offsets %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("offset %d is %d, want %d", i, got[i], want[i])
		}
	}
	if w := f.Commands[1].Words[2]; line[w.Pos:w.End] != `"x y"` || w.Raw != `"x y"` || w.Text != "x y" {
		t.Errorf("word %+v", w)
	}
	if _, why := shell.ReadOnly(f, shell.Untrusted); why.Pos != at("'eval") {
		t.Errorf("refused at %d: %s", why.Pos, why)
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range table(f) {
		f.Add(r.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		start := time.Now()
		facts, err := shell.Parse(line)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("took %v", d)
		}
		if err != nil {
			return
		}
		for _, c := range facts.Commands {
			if c.Pos < 0 || c.Pos > len(line) || c.Inner < 0 || c.Inner > len(c.Words) {
				t.Errorf("command %+v", c)
			}
			for _, w := range c.Words {
				if w.Pos < 0 || w.End < w.Pos || w.End > len(line) {
					t.Errorf("word %+v", w)
				}
				if w.Literal() && w.Many {
					t.Errorf("a known word may be several: %+v", w)
				}
			}
		}
		if ok, why := shell.ReadOnly(facts, shell.Trusted); ok == (why.Text != "") {
			t.Errorf("read-only %t because of %q", ok, why.Text)
		}
		if ok, _ := shell.ReadOnly(facts, shell.Untrusted); ok {
			if still, _ := shell.ReadOnly(facts, shell.Trusted); !still {
				t.Error("trust makes a line worse")
			}
		}
		shell.Paths(facts)
	})
}
