package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Colours are for terminals whose owner did not decline them. The null device is
// a character device as a terminal is, and every machine has one.
func TestColours(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	t.Setenv("WT_SESSION", "1")
	for _, test := range []struct {
		noColor, term string
		f             *os.File
		want          colours
	}{
		{"", "xterm", device, true},
		{"1", "xterm", device, false},
		{"", "dumb", device, false},
		{"", "xterm", file, false},
		{"", "xterm", pipe, false},
	} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("TERM", test.term)
		if got := coloursFor(&answer{w: test.f}); got != test.want {
			t.Errorf("NO_COLOR=%q TERM=%q %s: %v, want %v", test.noColor, test.term, test.f.Name(), got, test.want)
		}
	}
	if coloursFor(&bytes.Buffer{}) {
		t.Error("a buffer has colours")
	}
	if got := colours(false).red("x"); got != "x" {
		t.Errorf("without colours: %q", got)
	}
	if got := colours(true).red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("with colours: %q", got)
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{clip("äöü", 3), "äöü"},
		{clip("äöüx", 3), "äöü…"},
		{clip("", 0), ""},
		{visible("a\x1b[2Jb\u202ec\n"), "a\ufffd[2Jb\ufffdc\ufffd"},
		{indent("a\n\nb\n"), "    a\n    \n    b"},
		{firstLine("a\nb"), "a"},
		{brief(1234 * time.Nanosecond), "1µs"},
		{brief(1234 * time.Microsecond), "1.2ms"},
		{brief(12345 * time.Microsecond), "12ms"},
		{brief(1234 * time.Millisecond), "1.234s"},
		{brief(12345 * time.Millisecond), "12s"},
		{subject([]byte(`{"path":"a.txt","x":1}`)), "a.txt"},
		{subject([]byte(`{"path":1}`)), `{"path":1}`},
		{subject([]byte(`{"pth":"a.txt"}`)), `{"pth":"a.txt"}`},
		{subject([]byte(`{"path":"a.txt","path":"b"}`)), `{"path":"a.txt","path":"b"}`},
		{subject([]byte(`{"path":`)), `{"path":`},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
