package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/callgate/callgate"
)

// expected returns the first expectation that a trial does not meet, nil if there
// is none.
func (t *Task) expected(tr *Trial) *Failure {
	fail := func(at, format string, args ...any) *Failure {
		return &Failure{Kind: "expect", Where: t.Where("/expect/" + at), Message: fmt.Sprintf(format, args...)}
	}
	for _, r := range []struct {
		at    string
		what  string
		n     int
		codes map[callgate.Code]int
		Range
	}{
		{"calls", "calls", tr.Calls, nil, t.Expect.Calls},
		{"refusals", "refused calls", total(tr.Refusals), tr.Refusals, t.Expect.Refusals},
		{"failures", "failed calls", total(tr.Failures), tr.Failures, t.Expect.Failures},
	} {
		switch {
		case r.Min != nil && r.n < *r.Min:
			return fail(r.at+"/min", "%d %s%s; at least %d are expected", r.n, r.what, byCode(r.codes), *r.Min)
		case r.Max != nil && r.n > *r.Max:
			return fail(r.at+"/max", "%d %s%s; at most %d are expected", r.n, r.what, byCode(r.codes), *r.Max)
		}
	}
	for i, code := range t.Expect.Codes {
		c := callgate.Code(code)
		if tr.Refusals[c]+tr.Failures[c] == 0 {
			return fail(fmt.Sprintf("codes/%d", i), "no call ended with %s", code)
		}
	}
	return nil
}

// byCode returns counts in parentheses, by code, or "".
func byCode(counts map[callgate.Code]int) string {
	if len(counts) == 0 {
		return ""
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, counts[code]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
