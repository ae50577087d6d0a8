package plaintext

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	const (
		scotland = "\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"
		smuggled = "\U000E0068\U000E0069"
	)
	for _, tt := range []struct {
		name, in, want, says string
		seen                 bool // hidden characters stay
	}{
		{name: "nothing", in: "", want: ""},
		{name: "tabs and line ends stay", in: "a\tb\r\nc", want: "a\tb\r\nc"},
		{name: "other scripts stay", in: "grüße שלום 你好 👨‍👩‍👧 ❤️", want: "grüße שלום 你好 👨‍👩‍👧 ❤️"},
		{name: "NUL, bell, backspace, delete", in: "a\x00\a\b\x7fb", want: "ab", says: "4 control characters or terminal escapes removed"},
		{name: "delete alone", in: "a\x7fb", want: "ab", says: "1 control"},
		{name: "C1 controls", in: "a\u0085b", want: "ab", says: "1 control characters or terminal escapes removed"},
		{name: "bytes that are no UTF-8", in: "a\xff\xc3b", want: "a\ufffd\ufffdb", says: "2 bytes that are not UTF-8 replaced"},
		{name: "a surrogate in UTF-8", in: "\xed\xa0\x80", want: "\ufffd\ufffd\ufffd", says: "3 bytes that are not UTF-8 replaced"},
		{name: "U+FFFD itself is a character", in: "a\ufffdb", want: "a\ufffdb"},
		{name: "a colour", in: "\x1b[1;31mred\x1b[0m", want: "red", says: "2 control"},
		{name: "a colour with the one-character CSI", in: "\u009b31mred", want: "red", says: "1 control"},
		{name: "a CSI that never ends", in: "a\x1b[12", want: "a", says: "1 control"},
		{name: "a title, closed by BEL", in: "\x1b]0;title\ax", want: "x", says: "1 control"},
		{name: "a link, closed by ST", in: "\x1b]8;;http://h\x1b\\y", want: "y", says: "1 control"},
		{name: "a string that is not closed on its line hides nothing", in: "\x1b]0;a\nb\a", want: "0;a\nb", says: "2 control"},
		{name: "a character set", in: "\x1b(Bx", want: "x", says: "1 control"},
		{name: "a two-character escape", in: "\x1bcx", want: "x", says: "1 control"},
		{name: "an escape at the end", in: "x\x1b", want: "x", says: "1 control"},
		{name: "an escape before another script", in: "\x1bü", want: "ü", says: "1 control"},
		{name: "tags", in: "a" + smuggled + "b", want: "ab", says: "2 invisible"},
		{name: "tags, where they may stay", in: "a" + smuggled, want: "a" + smuggled, seen: true},
		{name: "the tags of a flag", in: scotland + "!", want: scotland + "!"},
		{name: "tags behind a flag that is whole", in: scotland + smuggled, want: scotland, says: "2 invisible"},
		{name: "a flag without its cancel tag", in: "\U0001F3F4" + smuggled, want: "\U0001F3F4", says: "2 invisible"},
		{name: "a flag with one tag", in: "\U0001F3F4\U000E0061\U000E007F", want: "\U0001F3F4", says: "2 invisible"},
		{name: "a flag with more tags than any region", in: "\U0001F3F4" + strings.Repeat("\U000E0061", 7) + "\U000E007F", want: "\U0001F3F4", says: "8 invisible"},
		{name: "a flag whose tags spell no region", in: "\U0001F3F4\U000E0020\U000E0020\U000E007F", want: "\U0001F3F4", says: "3 invisible"},
		{name: "one variation selector", in: "❤\ufe0f", want: "❤\ufe0f"},
		{name: "bytes in variation selectors", in: "a\ufe00\ufe01\U000E0100b", want: "a\ufe00b", says: "2 invisible"},
		{name: "each character may have its selector", in: "❤\ufe0f\U0001F3F4\ufe0f☀\ufe0f", want: "❤\ufe0f\U0001F3F4\ufe0f☀\ufe0f"},
		{name: "invisible operators and fillers", in: "a\u2061\u2062\u3164\u180eb", want: "ab", says: "4 invisible"},
		{name: "all at once", in: "\x00\xff\u2063", want: "\ufffd", says: "1 bytes that are not UTF-8 replaced, 1 control characters or terminal escapes removed, 1 invisible characters removed"},
	} {
		got, c := Clean(tt.in, !tt.seen)
		if got != tt.want || tt.says == "" && c != (Cleaned{}) || !strings.Contains(c.String(), tt.says) {
			t.Errorf("%s: %q became %q (%s), want %q (%s)", tt.name, tt.in, got, c, tt.want, tt.says)
		}
	}
}

// What is hostile costs what its length costs.
func TestCleanIsLinear(t *testing.T) {
	for _, unit := range []string{"\x1b]", "\x1bP", "\x1b[", "\U0001F3F4\U000E0061\U000E0061", "\xff"} {
		start := time.Now()
		Clean(strings.Repeat(unit, 4<<20/len(unit)), true)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("4 MiB of %q took %v", unit, took)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"what fits stays", "abcde", 5, "abcde"},
		{"characters count, not bytes", "äöüß", 4, "äöüß"},
		{"a fifth in front", strings.Repeat("a", 100), 10, "aa\n[... 90 characters (0 lines) left out ...]\naaaaaaaa"},
		{"whole lines, where there are some near", "one\ntwo\nthree\nfour\nfive\nsix\n", 20, "one\n[... 10 characters (2 lines) left out ...]\nfour\nfive\nsix\n"},
		{"in front too", "one\ntwo\nthree\nfour\nfive\nsix\n", 25, "one\n[... 4 characters (1 lines) left out ...]\nthree\nfour\nfive\nsix\n"},
		{"nothing may stay", "abc", 0, "[... 3 characters (0 lines) left out ...]\n"},
		{"less than nothing", "abc", -1, "[... 3 characters (0 lines) left out ...]\n"},
	} {
		got, cut := Cut(tt.in, tt.limit)
		if got != tt.want || cut != (got != tt.in) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "a\x00\x1b[31mb\xff", "\x1b]0;t\a\x1b]x\n", "\u009b1", "\U0001F3F4\U000E0067\U000E0062\U000E007F", "\ufe0f\ufe0f\u2063", "\x1b\xc2\x9b"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, hidden bool) {
		got, c := Clean(s, hidden)
		if !utf8.ValidString(got) {
			t.Errorf("%q became %q, which is not UTF-8", s, got)
		}
		for _, r := range got {
			if isControl(r) {
				t.Errorf("%q became %q, with the control character %U", s, got, r)
			}
		}
		if again, more := Clean(got, hidden); again != got || more != (Cleaned{}) {
			t.Errorf("%q became %q, and then %q", s, got, again)
		}
		if (got == s) != (c == Cleaned{}) {
			t.Errorf("%q became %q, and Clean says %q", s, got, c)
		}
		if c.String() == "" && got != s {
			t.Errorf("nobody is told that %q became %q", s, got)
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("one\ntwo\nthree\n", 5)
	f.Add(strings.Repeat("ü", 50), 7)
	f.Add("\n\n\n\n", 2)
	f.Add("abc", -1)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if !utf8.ValidString(s) {
			return // Clean comes first
		}
		got, cut := Cut(s, limit)
		if fits := utf8.RuneCountInString(s) <= limit; cut == fits || fits && got != s {
			t.Fatalf("limit %d: %q became %q (cut %v)", limit, s, got, cut)
		}
		if !cut {
			return
		}
		if !utf8.ValidString(got) {
			t.Errorf("limit %d: %q became %q, which is not UTF-8", limit, s, got)
		}
		i := strings.Index(got, "[... ")
		j := strings.LastIndex(got, " left out ...]\n")
		if i < 0 || j < i {
			t.Fatalf("limit %d: %q has no mark", limit, got)
		}
		if n := utf8.RuneCountInString(got); n > max(limit, 0)+90 {
			t.Errorf("limit %d: %d characters stay", limit, n)
		}
		if tail := got[j+len(" left out ...]\n"):]; !strings.HasSuffix(s, tail) && !strings.Contains(s, "left out") {
			t.Errorf("limit %d: %q does not end with the end of %q", limit, got, s)
		}
	})
}
