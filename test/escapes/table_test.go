// Package escapes holds the suite of attacks on the sandbox, and of ordinary work that
// it must not break: see README.md. It has tests only.
package escapes

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:embed table.txt
var table string

// The columns of the table.
var levels = []string{"isolated", "confined", "none"}

// A row is what one case must come to. The cells are "P", "F", "-" or the version of
// Landlock from which on it is "P", by level and whether root tries.
type row struct {
	name  string
	words string
	cells map[string][2]byte // of a level: root, another user
}

// cell is P, F or - on a kernel with that version of Landlock.
func (r row) cell(level string, root bool, landlock int) byte {
	c := r.cells[level][1]
	if root {
		c = r.cells[level][0]
	}
	switch {
	case c != '9':
	case landlock >= 9:
		c = 'P'
	default:
		c = 'F'
	}
	return c
}

func parseTable(text string) (rows []row, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 5 {
			return nil, fmt.Errorf("line %d: %q has no name, three cells and words", i+1, line)
		}
		r := row{name: f[0], words: strings.Join(f[4:], " "), cells: map[string][2]byte{}}
		for j, level := range levels {
			root, user, both := strings.Cut(f[1+j], "/")
			if !both {
				user = root
			}
			if len(root) != 1 || len(user) != 1 || !strings.Contains("PF9-", root) || !strings.Contains("PF9-", user) {
				return nil, fmt.Errorf("line %d: %q is no cell; use P, F, 9, -, or two of them with a slash", i+1, f[1+j])
			}
			r.cells[level] = [2]byte{root[0], user[0]}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func readTable(t *testing.T) []row {
	t.Helper()
	rows, err := parseTable(table)
	if err != nil {
		t.Fatal("table.txt: ", err)
	}
	return rows
}

// Each case has one row, and each row a case.
func TestTable(t *testing.T) {
	var inTable, inFiles []string
	for _, r := range readTable(t) {
		inTable = append(inTable, r.name)
	}
	files, err := filepath.Glob("cases/*.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		inFiles = append(inFiles, strings.TrimSuffix(filepath.Base(f), ".sh"))
	}
	slices.Sort(inTable)
	slices.Sort(inFiles)
	if !slices.Equal(inTable, inFiles) {
		t.Errorf("table.txt and cases differ:\ntable %q\nfiles %q", inTable, inFiles)
	}
	// A case that ends without a judgement would say nothing.
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(string(text), "\njudge forbid\n") && !strings.HasSuffix(string(text), "\njudge allow\n") {
			t.Errorf("%s does not end with judge forbid or judge allow", f)
		}
		if !strings.Contains(string(text), "\nact <<") {
			t.Errorf("%s has no act", f)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	for _, bad := range []string{"01_x P P", "01_x P P X words", "01_x P/P/P P P words", "01_x P PF P words"} {
		if rows, err := parseTable(bad); err == nil {
			t.Errorf("%q is taken as %v", bad, rows)
		}
	}
}

func TestTableCells(t *testing.T) {
	rows, err := parseTable("01_x 9 P/F - words")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		level    string
		root     bool
		landlock int
		want     byte
	}{
		{"isolated", true, 9, 'P'}, {"isolated", false, 10, 'P'}, {"isolated", false, 8, 'F'}, {"isolated", true, 0, 'F'},
		{"confined", true, 0, 'P'}, {"confined", false, 9, 'F'}, {"none", true, 9, '-'},
	} {
		if got := rows[0].cell(c.level, c.root, c.landlock); got != c.want {
			t.Errorf("%s, root %v, Landlock %d: %c, not %c", c.level, c.root, c.landlock, got, c.want)
		}
	}
}

// A tally counts how the cases came out at one level for one user.
type tally struct {
	must, passed int // P: how many, and how many of them did
	skipped      int // of them; a reason is in the log
	may, better  int // F: how many were tried, and how many passed nevertheless
}

func (c tally) String() string {
	return fmt.Sprintf("%3d must pass: %3d passed, %d skipped, %d FAILED; %3d may fail: %d passed", c.must, c.passed, c.skipped, c.must-c.passed-c.skipped, c.may, c.better)
}
