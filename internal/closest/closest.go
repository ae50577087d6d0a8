// Package closest finds the names that somebody most likely meant by a wrong
// one. What it finds is for a message; it never decides anything.
package closest

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const longest = 128 // letters; what is longer is no slip of a name

// Name returns the candidate that s was most likely meant to be, or "" if none is
// near: a slip of a letter, or of at most a third of them, or one a part of the
// other. Case and separators do not count.
func Name(s string, candidates []string) string {
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
		d := Edits(a, b)
		switch {
		case d <= max(len(a), len(b), 3)/3 && d < len(a):
		case isPart(a, b):
			d += longest // a weaker sign than a slip
		default:
			continue
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// Names returns at most n of the candidates that are near s, the nearest first,
// and among equals in the order given. Case and separators do not count. Near is:
// at most a third of the letters differ; or one is a part of the other; or they
// share a word of three letters or more.
func Names(s string, candidates []string, n int) []string {
	if utf8.RuneCountInString(s) > longest {
		return nil
	}
	type scored struct {
		name  string
		score int
	}
	var near []scored
	a, words := letters(s), split(s)
	for _, c := range candidates {
		if utf8.RuneCountInString(c) > longest {
			continue
		}
		b := letters(c)
		d := Edits(a, b)
		switch {
		case d <= max(len(a), len(b))/3 && d < len(a) || d == 0:
		case isPart(a, b):
			d += longest
		case slices.ContainsFunc(split(c), func(w string) bool { return len(w) > 2 && slices.Contains(words, w) }):
			d += 2 * longest
		default:
			continue
		}
		near = append(near, scored{c, d})
	}
	slices.SortStableFunc(near, func(x, y scored) int { return cmp.Compare(x.score, y.score) })
	var out []string
	for _, x := range near[:min(n, len(near))] {
		out = append(out, x.name)
	}
	return out
}

// Least returns the n candidates with the fewest edits from s, near or not: what
// to show somebody who named nothing that exists.
func Least(s string, candidates []string, n int) []string {
	a := letters(s[:min(len(s), longest)])
	least := slices.Clone(candidates)
	slices.SortStableFunc(least, func(x, y string) int {
		return cmp.Compare(Edits(a, letters(x)), Edits(a, letters(y)))
	})
	return least[:min(n, len(least))]
}

// isPart reports whether one of a and b, of three letters or more, is a part of
// the other.
func isPart(a, b []rune) bool {
	return min(len(a), len(b)) >= 3 && (strings.Contains(string(a), string(b)) || strings.Contains(string(b), string(a)))
}

func isSeparator(r rune) bool { return strings.ContainsRune("_-. /:", r) }

func letters(s string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if isSeparator(r) {
			return -1
		}
		return r
	}, strings.ToLower(s)))
}

func split(s string) []string { return strings.FieldsFunc(strings.ToLower(s), isSeparator) }

// Edits is the optimal string alignment distance: the least number of
// insertions, deletions, replacements and swaps of neighbours that turn a into b.
func Edits(a, b []rune) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
