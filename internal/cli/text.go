package cli

import (
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/callgate/callgate/internal/plaintext"
)

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// clip and visible are what package plaintext has, by the names that messages use.
func clip(s string, n int) string { return plaintext.Clip(s, n) }
func visible(s string) string     { return plaintext.Visible(s) }

// indent puts four blanks before each line of s.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

// brief rounds a duration to two digits or so.
func brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// colours paint text if they are on.
type colours bool

// coloursFor are on for a terminal, unless NO_COLOR (no-color.org) is set or
// TERM says that it has none.
func coloursFor(w io.Writer) colours {
	if a, ok := w.(*answer); ok {
		w = a.w
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" && os.Getenv("TERM") == "" {
		return false // a console that may print the escapes
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func (c colours) paint(code, s string) string {
	if !c {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (c colours) green(s string) string  { return c.paint("32", s) }
func (c colours) red(s string) string    { return c.paint("31", s) }
func (c colours) yellow(s string) string { return c.paint("33", s) }
func (c colours) bold(s string) string   { return c.paint("1", s) }
func (c colours) faint(s string) string  { return c.paint("2", s) }
