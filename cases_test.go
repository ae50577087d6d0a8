package callgate_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every reported case has tests that hold it, or an issue that will: no case is
// forgotten, and no test is claimed that does not exist or does not name its
// case.
func TestCases(t *testing.T) {
	owners := owners(t)
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct{ ID, Area, Symptom, Expected string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases[c.ID] = true
		if len(owners[c.ID]) == 0 {
			t.Errorf("%s (%s) has no owner in testdata/cases.owners: %s", c.ID, c.Area, c.Symptom)
		}
	}
	if len(cases) < 128 {
		t.Errorf("%d cases, want at least 128", len(cases))
	}
	issue := regexp.MustCompile(`^issue [5-8]$`)
	for id, owns := range owners {
		if !cases[id] {
			t.Errorf("%s is in testdata/cases.owners and not among the cases", id)
		}
		for _, o := range owns {
			if issue.MatchString(o) {
				continue
			}
			dir, name, _ := strings.Cut(o, " ")
			if !holds(t, dir, name, id) {
				t.Errorf("%s: %s has no test %s in a file that names the case", id, dir, name)
			}
		}
	}
}

// owners reads testdata/cases.owners: an id and, divided by semicolons, its
// owners, on each line.
func owners(t *testing.T) map[string][]string {
	b, err := os.ReadFile("testdata/cases.owners")
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, rest, _ := strings.Cut(line, " ")
		if owners[id] != nil {
			t.Errorf("%s stands in testdata/cases.owners twice", id)
		}
		for o := range strings.SplitSeq(rest, ";") {
			if o = strings.TrimSpace(o); o != "" {
				owners[id] = append(owners[id], o)
			}
		}
	}
	return owners
}

// holds reports whether a test file in dir has the named test and names the case.
func holds(t *testing.T, dir, name, id string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "func "+name+"(") && strings.Contains(string(b), id) {
			return true
		}
	}
	return false
}
