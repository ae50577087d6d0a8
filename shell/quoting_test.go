package shell_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/shell"
)

// Words that are said to be known are what the real bash makes of them.
func TestWordsAgreeWithBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash here")
	}
	for _, r := range []struct{ words, want string }{
		{`helm`, `helm`},
		{`\helm 'helm' "helm" he"l"m $'helm'`, `helm|helm|helm|helm|helm`},
		{"he\\\nlm", `helm`},
		{"\"a\\\nb\" 'a\\\nb'", "ab|a\\\nb"},
		{`a\ b 'a b' "a b"`, `a b|a b|a b`},
		{`"a\$b" "a\b" "a\\b" "a\"b" "a\'b" "a\` + "`" + `b"`, `a$b|a\b|a\b|a"b|a\'b|a` + "`b"},
		{`'a\b' 'a"b' a\\b a\'b`, `a\b|a"b|a\b|a'b`},
		{`$'a\nb\tc' $'\x41\101\u0041\U00000041' $'\'' $'\"' $'\q' $'\e[0m'`, "a\nb\tc|AAAA|'|\"|\\q|\x1b[0m"},
		{`$'a\0b'c $'a\x00b'`, `ac|a`}, // a NUL ends the quoted string only
		{`$'\x' $'\xg' $'\u'`, `\x|\xg|\u`},
		{`$'\08' $'\1013'`, `|A3`},
		{`"" '' a""b`, `||ab`},
		{`"$'a'" '$"a"'`, `$'a'|$"a"`},
		{`$ "$" a$ $. "a$"`, `$|$|a$|$.|a$`},
		{`{} {a} {a,b a,b} }{ {,`, `{}|{a}|{a,b|a,b}|}{|{,`},
		{`\{a,b} {a\,b} "{a,b}" {a"," b}`, `{a,b}|{a,b}|{a,b}|{a,|b}`},
		{`a~ \~ "~" '~'/x b=\~ :~`, `a~|~|~|~/x|b=~|:~`},
		{`\* '*' "?" \[a]`, `*|*|?|[a]`},
		{`a#b a=#`, `a#b|a=#`},
		{`a=b -x=y --a=~ +x`, `a=b|-x=y|--a=~|+x`},
		{`! } { [ ] = % ^ : @ , . /`, `!|}|{|[|]|=|%|^|:|@|,|.|/`},
		{`é "ü" \ñ`, `é|ü|ñ`},
		{`a;b`, `a`},
		{`1>&2 a`, `a`},
	} {
		f, err := shell.Parse("set -- " + r.words)
		if err != nil {
			t.Errorf("%s: %v", r.words, err)
			continue
		}
		var got []string
		for _, w := range f.Commands[0].Words[2:] {
			if !w.Literal() {
				t.Errorf("%s: %s is not known (%s)", r.words, w.Raw, w.Why)
			}
			got = append(got, w.Text)
		}
		if s := strings.Join(got, "|"); s != r.want {
			t.Errorf("%s: words %q, want %q", r.words, s, r.want)
		}
		if bash == "" {
			continue
		}
		if s := inBash(t, bash, r.words); s != r.want {
			t.Errorf("%s: bash's words %q, want %q", r.words, s, r.want)
		}
	}
}

func inBash(t *testing.T, bash, words string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", "f() { local IFS='|'; printf %s \"$*\"; }\nset -- "+words+"\nf \"$@\"")
	cmd.Dir, cmd.Env, cmd.Stderr = t.TempDir(), []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v", words, err)
	}
	return string(out)
}

// What we do not claim to know although bash's rules settle it: each is safe,
// because a word that is not known is never taken for harmless.
func TestWordsThatAreLeftOpen(t *testing.T) {
	for _, r := range []struct{ word, why string }{
		{`{a,b..}`, "brace"},         // bash: {a,b..} is a list too; {a..b,} would be literal
		{`[a`, "glob"},               // bash: literal without the closing bracket
		{`~"a"`, "tilde"},            // bash: a quoted name is not looked up
		{`$'\u00e9'`, "locale"},      // depends on the character set
		{`$'\ca'`, "locale"},         // rare, and odd with a backslash
		{`$"a"`, "locale"},           // translated where TEXTDOMAIN says so
		{`"a${b}"`, "param"},         // the certain start is known
		{`""{a,b}`, "brace"},         // and this is what bash does
		{`a{b,c}d`, "brace"},         //
		{`{1..3}`, "brace"},          //
		{`a=~/b`, "tilde"},           // bash does so outside of POSIX mode
		{`a=b:~`, "tilde"},           //
		{`*$x`, "param+glob"},        //
		{`$'\x{41}'`, "locale"},      // bash 5 knows it, bash 3.2 does not
		{`{"a",b}`, "brace"},         //
		{`-{a,b}`, "brace"},          //
		{`a?`, "glob"},               //
		{"`a`$((1))", "cmd+arith"},   //
		{`<(a)`, "proc"},             //
		{`"$@"`, "param"},            //
		{`a"$x"'*'`, "param"},        //
		{`${x}{a,b}`, "param+brace"}, //
	} {
		f, err := shell.Parse("echo " + r.word)
		if err != nil {
			t.Errorf("%s: %v", r.word, err)
		} else if w := f.Commands[0].Words[1]; w.Why.String() != r.why {
			t.Errorf("%s: %q because of %q, want %q", r.word, w.Text, w.Why, r.why)
		}
	}
}

// Whether a word may be read as an option is what proofs rest on.
func TestMayBeOption(t *testing.T) {
	for _, r := range []struct {
		word  string
		may   bool
		start string
	}{
		{`a`, false, "a"}, {`-a`, true, "-a"}, {`"-a"`, true, "-a"}, {`'' `, false, ""},
		{`*`, true, ""}, {`a*`, false, "a"}, {`./*`, false, "./"}, {`-*`, true, "-"},
		{`$x`, true, ""}, {`"$x"`, true, ""}, {`a$x`, true, "a"}, {`"a$x"`, false, "a"}, {`a"$x"`, false, "a"},
		{`a"$@"`, true, "a"}, {`"a${x[@]}"`, true, "a"}, {`a$(b)`, true, "a"}, {`a$((1))`, true, "a"},
		{`{-a,b}`, true, ""}, {`a{b,-c}`, false, "a"}, {`~`, false, ""}, {`~/-a`, false, ""}, {`<(a)`, false, ""},
		{`$'-a'`, true, "-a"}, {`$"a"`, true, ""}, {`a*$x`, true, "a"}, {`"$x"a`, true, ""},
	} {
		f, err := shell.Parse("echo " + r.word)
		if err != nil {
			t.Errorf("%s: %v", r.word, err)
		} else if w := f.Commands[0].Words[1]; w.MayBeOption() != r.may || w.Text != r.start {
			t.Errorf("%s: starts with %q and may be an option: %t, want %q and %t", r.word, w.Text, w.MayBeOption(), r.start, r.may)
		}
	}
}
