package cli

import (
	"bufio"
	"io"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	const long = "0123456789"
	l := lineReader{r: bufio.NewReaderSize(strings.NewReader("a\n\n"+long+"\n"+long+"x\nb\r\nend"), 16), max: len(long) + 1}
	for _, want := range []string{"1 a\n", "2 \n", "3 " + long + "\n", "4 unreadable turn: it has more than 11 bytes", "5 b\r\n", "6 end"} {
		line, err := l.next()
		got := string(line)
		if err != nil {
			got = err.Error()
		}
		if got = string(rune('0'+l.n)) + " " + got; got != want {
			t.Errorf("line %d: %q, want %q", l.n, got, want)
		}
	}
	if _, err := l.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
