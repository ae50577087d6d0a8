package callgate_test

import (
	"os"
	"regexp"
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

// Each promise of docs/threat-model.md names tests that exist.
func TestThreatModel(t *testing.T) {
	page, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^(Test|Fuzz)\w+$`)
	promises := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(cells[2], "---") || strings.TrimSpace(cells[2]) == "test" {
			continue
		}
		promises++
		found := 0
		for quoted := range strings.SplitSeq(cells[2], "`") {
			dir, tests, ok := strings.Cut(quoted, ": ")
			if !ok {
				dir, tests = ".", quoted
			}
			for test := range strings.SplitSeq(tests, ",") {
				if test = strings.TrimSpace(test); name.MatchString(test) {
					found++
					if !holds(t, dir, test, test) {
						t.Errorf("%s: there is no test %s in %s", strings.TrimSpace(cells[0]), test, dir)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("no test is named for: %s", cells[0])
		}
	}
	if promises < 15 {
		t.Errorf("%d promises were found", promises)
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
