package schema

import (
	"strings"
	"unicode/utf8"
)

// nearest is the candidate that s was most likely meant to be, "" if none is
// near: at most a third of the letters differ, or one is a part of the other.
// Case, '-', '_' and ' ' do not count.
func nearest(s string, candidates []string) string {
	const longest = 64 // letters; what is longer is no slip of a name
	if utf8.RuneCountInString(s) > longest {
		return ""
	}
	a := letters(s)
	best, least := "", 1<<30
	for _, c := range candidates {
		if utf8.RuneCountInString(c) > longest {
			continue
		}
		b := letters(c)
		d := edits(a, b)
		limit := max(len(a), len(b)) / 3
		if d > max(limit, 1) || d >= len(a) {
			if min(len(a), len(b)) < 3 || !strings.Contains(string(a), string(b)) && !strings.Contains(string(b), string(a)) {
				continue
			}
			d += longest // a part of the other: a weaker sign than a slip
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

func letters(s string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s)))
}

// edits is the optimal string alignment distance: insertions, deletions,
// replacements and swaps of neighbours.
func edits(a, b []rune) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, prev, before := rows[i%3], rows[(i-1)%3], rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
