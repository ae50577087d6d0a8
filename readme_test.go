package callgate_test

import (
	"os"
	"strings"
	"testing"
)

// The Go code in README.md is the body of the examples that the tests compile
// and run: one text, so that the page cannot go stale.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(readme)
	blocks := 0
	for {
		_, after, ok := strings.Cut(rest, "<!-- from ")
		if !ok {
			break
		}
		file, after, _ := strings.Cut(after, " -->\n```go\n")
		block, after, ok := strings.Cut(after, "\n```\n")
		if !ok {
			t.Fatalf("the block from %s has no end", file)
		}
		rest = after
		blocks++
		source, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(undent(string(source)), undent(block)) {
			t.Errorf("a block of README.md is no longer in %s:\n%s", file, block)
		}
	}
	if blocks < 2 {
		t.Errorf("%d blocks of README.md are checked; have the marks been lost?", blocks)
	}
}

// undent removes the indentation of every line.
func undent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return strings.TrimSpace(b.String())
}
