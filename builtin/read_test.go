package builtin

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/callgate/callgate"
)

func TestReadShowsNumberedLines(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "one\ntwo\nthree\n")
	if got, want := w.ok(w.call("read_file", "path", "a.txt")), "     1\tone\n     2\ttwo\n     3\tthree"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got, want := w.ok(w.call("read_file", "path", "a.txt", "offset", 2, "limit", 1)),
		"     2\ttwo\n... (1 more line); continue with offset=3"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	out := structured[readOutput](t, w.call("read_file", "path", "a.txt", "limit", 2))
	if out.Path != "a.txt" || out.Lines != 3 || out.FirstLine != 1 || out.LastLine != 2 || out.NextOffset != 3 || out.Encoding != "UTF-8" || out.LineEnding != "LF" {
		t.Fatalf("structured: %+v", out)
	}
}

// Each file has an answer of its own (H122, H135, H146 and DESIGN 7).
func TestReadOfEveryKind(t *testing.T) {
	small := func() string {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}()
	for _, c := range []struct {
		name, content string
		code          callgate.Code
		says          []string
	}{
		{"empty", "", "", []string{"(the file is empty)"}},
		{"no line end", "a", "", []string{"Note: the last line has no line end.", "     1\ta"}},
		{"CRLF", "a\r\nb\r\n", "", []string{"Note: its lines end in CRLF.", "     1\ta\n     2\tb"}},
		{"mixed", "a\r\nb\n", "", []string{"partly in CRLF, partly in LF"}},
		{"BOM", "\xef\xbb\xbfa\n", "", []string{"starts with a UTF-8 byte order mark", "     1\ta"}},
		{"UTF-16LE", "\xff\xfea\x00\xe9\x00\n\x00", "", []string{"UTF-16LE with a byte order mark", "     1\taé"}},
		{"UTF-16BE", "\xfe\xff\x00a\x00\xe9\x00\n", "", []string{"UTF-16BE", "     1\taé"}},
		{"UTF-16 without a mark", "n\x00a\x00m\x00e\x00=\x00v\x00a\x00l\x00u\x00e\x00\n\x00", "", []string{"UTF-16LE without a byte order mark", "     1\tname=value"}},
		{"Latin-1", "n: 5\n# se\xf1or\n", "", []string{"read as Windows-1252", "     2\t# señor"}}, // H135
		{"damaged UTF-8", "é\xff é\n", "", []string{"     1\té\ufffd é"}},
		{"SVG called x.png", "<svg xmlns='http://www.w3.org/2000/svg'/>", "", []string{"     1\t<svg"}}, // H122
		{"a PNG", small, "", []string{"image/png", "[image image/png,"}},
		{"half a PNG", small[:len(small)-8], callgate.ExecutionError, []string{"image/png", "cut off or damaged"}},
		{"a zip", "PK\x03\x04\x00\x00rest", callgate.ExecutionError, []string{"binary file", "application/zip", "10 bytes"}},
		{"noise", "\x00\x01\x02", callgate.ExecutionError, []string{"binary file", "unknown type", "3 bytes"}},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", callgate.ExecutionError, []string{"UTF-32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("x.png", c.content)
			r := w.call("read_file", "path", "x.png")
			if r.Code != c.code {
				t.Fatalf("code %q, want %q: %s", r.Code, c.code, r.ModelText())
			}
			w.says(r, c.says...)
		})
	}
}

func TestReadSendsWhatAModelCanLookAt(t *testing.T) {
	// The smallest file of each kind that is not in the standard library.
	webp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	gif := "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
	for name, content := range map[string]string{"image/webp": string(webp), "image/gif": gif} {
		w := newWorld(t)
		w.put("picture", content)
		r := w.call("read_file", "path", "picture")
		w.ok(r)
		last := r.Content[len(r.Content)-1]
		if last.Type != "image" || last.MIMEType != name || string(last.Data) != content {
			t.Errorf("%s: %+v", name, last)
		}
	}
	w := newWorld(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, maxImageSide+1, 1))); err != nil {
		t.Fatal(err)
	}
	w.put("wide.png", b.String())
	w.fails(w.call("read_file", "path", "wide.png"), callgate.ExecutionError, "8001×1 pixels")
}

func TestReadPastTheEnd(t *testing.T) { // H146
	w := newWorld(t)
	w.put("a", lines(9))
	w.put("empty", "")
	for _, offset := range []int{40, 10} {
		w.fails(w.call("read_file", "path", "a", "offset", offset), callgate.ExecutionError, fmt.Sprintf("offset %d is past the end: the file has 9 lines", offset))
	}
	for _, offset := range []int{0, -1} {
		w.fails(w.call("read_file", "path", "a", "offset", offset), callgate.InvalidArguments, "/offset")
	}
	w.fails(w.call("read_file", "path", "empty", "offset", 2), callgate.ExecutionError, "the file is empty")
	w.fails(w.call("read_file", "path", "a", "offset", 9, "column", 7), callgate.ExecutionError, "column 7 is past the end: line 9 has 6 characters")
}

func TestReadOfWhatIsNotAFile(t *testing.T) {
	w := newWorld(t)
	w.put("src/main.go", "package main\n")
	w.put("src/deep/util.go", "package deep\n")
	w.put("readme.md", "hi\n")
	w.fails(w.call("read_file", "path", "src"), callgate.ExecutionError, "is a directory", "2 entries: deep/, main.go", "glob")
	w.fails(w.call("read_file", "path", "src/mian.go"), callgate.ExecutionError, "no such file", "near it: src/main.go")
	w.fails(w.call("read_file", "path", "README.md"), callgate.ExecutionError, "near it: readme.md")
	w.fails(w.call("read_file", "path", "util.go"), callgate.ExecutionError, "near it: src/deep/util.go")
	w.fails(w.call("read_file", "path", "scr/main.go"), callgate.ExecutionError, `"scr" is not there either`, "src/main.go")
	w.fails(w.call("read_file", "path", "zzz"), callgate.ExecutionError, "use glob to find it")
	w.fails(w.call("read_file", "path", ""), callgate.InvalidArguments, "/path")
	w.fails(w.call("read_file", "path", "a\x00b"), callgate.ExecutionError, "NUL")
}

// One line longer than the cap still makes progress (H144), and a limit of one
// line does not mean megabytes (H145).
func TestReadOfOneLongLine(t *testing.T) {
	w := newWorld(t)
	w.put("one.json", strings.Repeat("0123456789", 4_000))
	r := w.call("read_file", "path", "one.json")
	w.says(r, "(38000 more characters; continue with offset=1 column=2001)")
	w.put("min.js", strings.Repeat("x", 5_000_000))
	r = w.call("read_file", "path", "min.js", "offset", 1, "limit", 1)
	if n := utf8.RuneCountInString(w.ok(r)); n > 50_000 {
		t.Fatalf("%d characters", n)
	}
	w.says(r, "more characters")
	if r.Truncated {
		t.Fatal("the dispatcher had to cut what the tool should have")
	}
}

// Following the hints of each page reaches every character once, whatever the
// lengths of the lines (H144, H145).
func TestReadHintsReachEverythingOnce(t *testing.T) {
	for name, text := range map[string]string{
		"a line over the cap": strings.Repeat("héllo wörld ", 10_000),
		"long among short":    lines(30) + strings.Repeat("ab", 1_500) + "\n" + lines(3_000) + strings.Repeat("c", 2_000) + "\n" + strings.Repeat("d", 2_001) + "\n",
		"many lines":          lines(20_000),
		"only blank lines":    strings.Repeat("\n", 30_000),
		"CRLF":                strings.ReplaceAll(lines(9_000), "\n", "\r\n"),
		"wide characters":     strings.Repeat("😀", 9_000) + "\nend",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("f", text)
			want := strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
			if got := strings.Join(followHints(t, w, "f"), "\n"); got != want {
				t.Fatalf("%d bytes, want %d; first difference at %d", len(got), len(want), firstDifference(got, want))
			}
		})
	}
}

// followHints reads a file to its end, as a model would: by the text alone.
func followHints(t testing.TB, w *world, path string) (file []string) {
	t.Helper()
	offset := 1
	for offset > 0 {
		r := w.call("read_file", "path", path, "offset", offset)
		if w.ok(r); r.Truncated {
			t.Fatal("a page is over the output limit")
		}
		next, text := 0, r.ContentText()
		if i := strings.LastIndex(text, "\n... ("); i >= 0 {
			if _, err := fmt.Sscanf(text[strings.LastIndex(text, "continue with "):], "continue with offset=%d", &next); err != nil {
				t.Fatal(err)
			}
			text = text[:i]
		}
		for line := range strings.SplitSeq(text, "\n") {
			var n int
			if _, err := fmt.Sscanf(line[:6], "%d", &n); err != nil || n != len(file)+1 || line[6] != '\t' {
				t.Fatalf("line %d is shown as %.40q", len(file)+1, line)
			}
			line = line[7:]
			if i := strings.LastIndex(line, " ... ("); i >= 0 {
				var column int
				if _, err := fmt.Sscanf(line[strings.LastIndex(line, "column="):], "column=%d", &column); err != nil {
					t.Fatal(err)
				}
				line = line[:i] + restOfLine(t, w, path, n, column)
			}
			file = append(file, line)
		}
		if next > 0 && next <= offset {
			t.Fatalf("no progress: offset %d after %d", next, offset)
		}
		offset = next
	}
	return file
}

func restOfLine(t testing.TB, w *world, path string, line, column int) (rest string) {
	t.Helper()
	for column > 0 {
		r := w.call("read_file", "path", path, "offset", line, "column", column)
		if w.ok(r); r.Truncated {
			t.Fatal("a page is over the output limit")
		}
		text := r.ContentText()[7:]
		i := strings.LastIndex(text, "\n")
		hint := text[i:]
		rest += text[:i]
		next := 0
		if j := strings.Index(hint, "column="); j >= 0 {
			fmt.Sscanf(hint[j:], "column=%d", &next)
			if next <= column {
				t.Fatalf("no progress: column %d after %d", next, column)
			}
		}
		column = next
	}
	return rest
}

func firstDifference(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

// One file, many spellings (H156, H159, H161, H162); outside is outside (H157).
func TestReadPaths(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"private/ws/sub", "private/ws-evil"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"private/ws/a.txt": "hi\n", "private/ws-evil/x": "secret\n", "private/secret": "secret\n"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("private/ws", filepath.Join(top, "ws")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(top, "private"))
	w := worldAt(t, filepath.Join(top, "ws"))
	w.link("out", "../secret")
	for _, path := range []string{
		"a.txt", "./sub/../a.txt", top + "/ws/a.txt", top + "/private/ws/a.txt", top + "/ws//a.txt", // H159, H162
	} {
		if got := w.ok(w.call("read_file", "path", path)); got != "     1\thi" {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{
		top + "/private/ws-evil/x", "../ws-evil/x", // H156
		"out", "../secret", // H157
		"~/secret", "~/ws/a.txt", "~root/x", // H161
		"/etc/passwd",
	} {
		r := w.call("read_file", "path", path)
		w.fails(r, callgate.ExecutionError)
		if strings.Contains(r.ModelText(), "1\tsecret") {
			t.Errorf("%s: %s", path, r.ModelText())
		}
	}
}
