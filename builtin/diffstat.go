package builtin

import (
	"fmt"
	"strings"
)

// maxEdits bounds the work of counting a difference. Beyond it the lines between
// the common start and end all count as replaced.
const maxEdits = 2_000

// A diffstat is how many lines a change removed and added.
type diffstat struct{ added, removed int }

func (d diffstat) String() string { return fmt.Sprintf("+%d -%d lines", d.added, d.removed) }

// compare counts the lines of a shortest difference. A line whose end changes is
// a changed line.
//
// Only the length of a shortest edit script is needed, not the script: with n
// lines removed and m added, m-n is known, and m+n is what Myers' greedy algorithm
// finds (An O(ND) Difference Algorithm, 1986).
func compare(before, after string) diffstat {
	a, b := number(before, after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return diffstat{added: len(b), removed: len(a)}
	}
	edits, ok := distance(a, b)
	if !ok {
		return diffstat{added: len(b), removed: len(a)}
	}
	return diffstat{added: (edits + len(b) - len(a)) / 2, removed: (edits + len(a) - len(b)) / 2}
}

// number gives equal lines of both texts equal numbers.
func number(before, after string) (a, b []int) {
	ids := make(map[string]int)
	lines := func(text string) (out []int) {
		for line := range strings.Lines(text) {
			id, ok := ids[line]
			if !ok {
				id = len(ids)
				ids[line] = id
			}
			out = append(out, id)
		}
		return out
	}
	return lines(before), lines(after)
}

// distance returns the least number of insertions and deletions that turn a into
// b, unless it is over maxEdits.
func distance(a, b []int) (int, bool) {
	most := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*most+3) // furthest x on each diagonal, x-y from -most-1
	zero := most + 1
	for d := 0; d <= most; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && reach[zero+k-1] < reach[zero+k+1] {
				x = reach[zero+k+1]
			} else {
				x = reach[zero+k-1] + 1
			}
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			reach[zero+k] = x
			if x >= len(a) && x-k >= len(b) {
				return d, true
			}
		}
	}
	return 0, false
}
