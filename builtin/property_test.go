package builtin

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/callgate/callgate"
)

// reference is edit_file on bytes, for files whose lines all end alike and for
// old texts that are there exactly: what nobody can argue about.
func reference(file, old, new []byte, all bool) (out []byte, ok bool) {
	if bytes.Contains(file, []byte("\r\n")) {
		crlf := func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		}
		old, new = crlf(old), crlf(new)
	}
	n := 0
	for i := range file {
		if bytes.HasPrefix(file[i:], old) {
			n++
		}
	}
	if n == 0 || n > 1 && !all || bytes.Equal(old, new) {
		return file, false
	}
	return bytes.ReplaceAll(file, old, new), true
}

// Random edits, one after another, leave the bytes that the reference does, and
// refused ones none.
func TestEditsEqualTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	words := []string{"a", "b", "ab", "aa", "\n", "\n", "é", "$1", "\t", "x\ny"}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	done := 0
	for round := range 4_000 {
		file := text(1 + r.IntN(20))
		if round%2 == 0 {
			file = strings.ReplaceAll(file, "\n", "\r\n")
		}
		if round%3 == 0 {
			file = bomUTF8 + file
		}
		for range 4 {
			old, new, all := text(1+r.IntN(3)), text(r.IntN(3)), r.IntN(3) == 0
			d, ok := decode([]byte(file))
			if !ok {
				t.Fatalf("%q is no text", file)
			}
			mark := strings.TrimSuffix(file, d.text)
			want, ok := reference([]byte(d.text), []byte(old), []byte(new), all)
			c, err := edit{old, new, all}.apply(d.text)
			if err == nil && c.ignored != "" {
				continue // the reference knows exact matches only
			}
			if ok != (err == nil) && !(ok && err == errNoChange) {
				t.Fatalf("%q: %q to %q all=%v: %v; the reference has %q, %v", d.text, old, new, all, err, want, ok)
			}
			if err != nil {
				continue
			}
			got, err := d.encode(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != mark+string(want) {
				t.Fatalf("%q: %q to %q all=%v: %q, want %q", file, old, new, all, got, want)
			}
			for _, s := range c.spots {
				if got := toLF(c.text[s.from:s.to]); got != toLF(new) {
					t.Fatalf("a spot holds %q, not %q", got, new)
				}
			}
			file = string(got)
			done++
		}
	}
	if done < 1_000 {
		t.Fatalf("only %d edits took place", done)
	}
}

// Many editors without a common dispatcher or lock: an edit that succeeded is in
// the file at the end, one that met another is a conflict and is not.
func TestEditorsOfOneFileLoseNothing(t *testing.T) {
	dir := t.TempDir()
	first := worldAt(t, dir)
	first.put("f", "start\n")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made []string
	for i := range 6 {
		w := worldAt(t, dir)
		wg.Go(func() {
			for j := range 15 {
				line := fmt.Sprintf("line of %d.%d", i, j)
				r := w.dispatch("", propose("edit_file", "path", "f", "old_text", "start\n", "new_text", "start\n"+line+"\n"))[0]
				switch r.Code {
				case "":
					mu.Lock()
					made = append(made, line)
					mu.Unlock()
				case callgate.Conflict:
				default:
					t.Errorf("%s", r.ModelText())
				}
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(first.path("f"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range made {
		if strings.Count(string(b), line+"\n") != 1 {
			t.Errorf("the edit that added %q succeeded and is lost", line)
		}
	}
	if got := strings.Count(string(b), "\n") - 1; got != len(made) || got == 0 {
		t.Errorf("%d lines in the file, %d edits succeeded", got, len(made))
	}
}

// Decoding and encoding give the bytes back, or say that they would not.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\r\nb", "\xef\xbb\xbfa", "\xff\xfea\x00", "\xfe\xff\x00a", "se\xf1or", "é\xff", "\x00\x01", "\xff\xfe\x00\xd8", "a\x00b\x00c\x00d\x00e\x00f\x00g\x00h\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, ok := decode(raw)
		if !ok {
			return
		}
		got, err := d.encode(d.text)
		if d.exact && (err != nil || !bytes.Equal(got, raw)) {
			t.Fatalf("%q became %q, %v", raw, got, err)
		}
	})
}

// An edit never panics, never touches what is outside its spots, and a text that
// is there once is replaced there.
func FuzzEdit(f *testing.F) {
	f.Add("one\r\ntwo\n", "one\ntwo", "x", false)
	f.Add("a  \n“b”\n", "a\n\"b\"", "y\nz", false)
	f.Add("aaa", "aa", "b", true)
	f.Add("\r\r\n\n", "\n", "\r", true)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		c, err := edit{old, new, all}.apply(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) && utf8.ValidString(text) && utf8.ValidString(old) {
				t.Fatalf("the error is not UTF-8: %q", err)
			}
			return
		}
		if !all && len(c.spots) != 1 {
			t.Fatalf("%d replacements", len(c.spots))
		}
		// Between the spots stands the old text, in order.
		rest, at := text, 0
		for i, s := range c.spots {
			between := c.text[at:s.from]
			j := strings.Index(rest, between)
			if j < 0 || i == 0 && j != 0 {
				t.Fatalf("%q: %q to %q gave %q: %q is not of the file", text, old, new, c.text, between)
			}
			rest, at = rest[j+len(between):], s.to
		}
		if !strings.HasSuffix(rest, c.text[at:]) {
			t.Fatalf("%q: %q to %q gave %q: the end changed", text, old, new, c.text)
		}
		if !strings.Contains(text, "\r\n") && strings.Count(text, old) == 1 && !all && c.ignored == "" && c.text != strings.Replace(text, old, new, 1) {
			t.Fatalf("%q: %q to %q gave %q", text, old, new, c.text)
		}
	})
}

// A page is within its limit, makes progress, and all pages together are the text.
func FuzzPages(f *testing.F) {
	f.Add("a\nb\r\nc", 0)
	f.Add(strings.Repeat("é", 9_000), 1)
	f.Add("\xff\r\r\n\n\r", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if len(text) > 20_000 || strings.Count(text, "\n") > 100 {
			return // too slow to be worth it
		}
		if len(text) < 200 {
			text = strings.Repeat(text, 40) // to need more than a page
		}
		split := strings.SplitAfter(text, "\n")
		want := strings.ReplaceAll(text, "\r\n", "\n")
		var got strings.Builder
		limit = max(limit, 50) // lines: many small pages of one text take long
		for offset := 1; offset > 0; {
			p, err := paginate(strings.NewReader(text), readInput{Offset: offset, Limit: limit}, 4_000)
			if err != nil {
				t.Fatal(err)
			}
			if n := utf8.RuneCountInString(p.body); n > 4_000 {
				t.Fatalf("a page of %d characters", n)
			}
			if p.total == 0 {
				break
			}
			cuts := p.cut
			for n := p.first; n <= p.last; n++ {
				next := maxLine + 1
				part := readPart(split[n-1], 0, maxLine)
				got.WriteString(part)
				for len(cuts) > 0 && cuts[0].Line == n {
					if cuts[0].Column != next {
						t.Fatalf("line %d goes on at %d, want %d", n, cuts[0].Column, next)
					}
					q, err := paginate(strings.NewReader(text), readInput{Offset: n, Column: next}, 4_000)
					if err != nil {
						t.Fatal(err)
					}
					to := 1 << 30
					if cuts = q.cut; len(cuts) > 0 {
						to = cuts[0].Column - next
					}
					got.WriteString(readPart(split[n-1], next-1, to))
					if next += to; to <= 0 {
						t.Fatal("no progress")
					}
				}
				if n < p.total || !p.open {
					got.WriteByte('\n')
				}
			}
			if p.next > 0 && p.next <= offset {
				t.Fatalf("no progress: %d after %d", p.next, offset)
			}
			offset = p.next
		}
		if got.String() != want {
			t.Fatalf("%d bytes, want %d; first difference at %d", got.Len(), len(want), firstDifference(got.String(), want))
		}
	})
}

// readPart returns characters of a line, found without a lineReader.
func readPart(line string, from, keep int) string {
	if l, ok := strings.CutSuffix(line, "\n"); ok {
		line = strings.TrimSuffix(l, "\r")
	}
	part, _ := clip(line[runeIndex(line, from):], keep)
	return part
}
