//go:build linux

package escapes

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// all is set where everything runs, in minutes: each case as each user at each level, but
// at none what is promised there, by one user; and the parts that take long. Without it each case runs as
// one user, see oneUser, at isolated, and every third at confined.
// CALLGATE_ESCAPES says it in words: all, part or none.
var all = os.Getenv("CALLGATE_ESCAPES") == "all" || os.Getenv("CI") == "true" && os.Getenv("CALLGATE_ESCAPES") == ""

// wanted reports whether a case is among those that CALLGATE_ESCAPES_CASES names by how
// they begin; without it all are.
func wanted(name string) bool {
	begins := strings.Fields(os.Getenv("CALLGATE_ESCAPES_CASES"))
	return len(begins) == 0 || slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(name, b) })
}

func leaveOut(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("CALLGATE_ESCAPES") == "none" {
		t.Skip("takes a part of a minute")
	}
}

// TestEscapes runs each case at each level that this machine can start, as root and
// as another user where it can. CALLGATE_ESCAPES_NEED names levels that have to start:
// "isolated confined". CALLGATE_ESCAPES_COMMAND is another program to test in place of
// callgate.
func TestEscapes(t *testing.T) {
	leaveOut(t)
	users := whoTries()
	s := newSuite(t)
	if all {
		s.env = append(slices.Clip(s.env), "HEAVY=1")
		s.warmGo(t)
	}
	rows := readTable(t)
	type job struct {
		row    row
		user   user
		levels []string
	}
	var jobs []job
	version := landlock()
	one := s.oneUser(t, rows, users)
	for _, u := range users {
		can, why := s.starts(u)
		for level, reason := range why {
			if level == "none" || slices.Contains(strings.Fields(os.Getenv("CALLGATE_ESCAPES_NEED")), level) {
				t.Errorf("%s as %s does not start: %s", level, u.name, reason)
			} else {
				t.Logf("%s as %s is not tried: it does not start here: %s", level, u.name, reason)
			}
		}
		for i, r := range rows {
			if !wanted(r.name) {
				continue
			}
			var at []string
			for _, level := range can {
				switch cell := r.cell(level, u.root(), version); {
				case cell == '-':
				case level == "none" && (u != users[0] || cell == 'F'): // what it does not promise is the control's to show
				case !all && (level == "none" || one[r.name] != u || level == "confined" && i%3 > 0 && slices.Contains(can, "isolated")):
				default:
					at = append(at, level)
				}
			}
			if len(at) > 0 {
				jobs = append(jobs, job{r, u, at})
			}
		}
	}
	var mu sync.Mutex
	tallies := map[string]*tally{}
	skipped := map[string]int{}
	each(jobs, func(j job) {
		t.Run(j.user.name+"/"+j.row.name, func(t *testing.T) {
			for _, v := range s.run(j.row.name, j.user, j.levels) {
				mu.Lock()
				key := v.level + " as " + j.user.name
				c := tallies[key]
				if c == nil {
					c = &tally{}
					tallies[key] = c
				}
				failure, note := c.count(j.row.cell(v.level, j.user.root(), version), v)
				if failure != "" {
					t.Errorf("%s: %s", v.level, failure)
				} else if note != "" {
					t.Logf("%s: %s", v.level, note)
				}
				if v.word == "SKIP" {
					skipped[v.why]++
				}
				mu.Unlock()
			}
		})
	})
	var keys []string
	for key := range tallies {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "\n%-17s %s", key, tallies[key])
	}
	for why, n := range skipped {
		fmt.Fprintf(&text, "\nskipped %3d: %s", n, why)
	}
	t.Log(text.String())
}

// count compares a verdict with the table. A failure is one of the test's; a note is
// for who reads the log.
func (c *tally) count(cell byte, v verdict) (failure, note string) {
	switch {
	case cell == 'P' && v.word == "PASS":
		c.must++
		c.passed++
	case cell == 'P' && v.word == "SKIP":
		c.must++
		c.skipped++
		return "", "skipped: " + v.why
	case cell == 'P':
		c.must++
		return cmp.Or(v.why, v.word), ""
	case v.word == "SKIP":
	case v.word == "PASS":
		c.may++
		c.better++
		return "", "passes, although it may fail"
	default:
		c.may++
		for _, nothing := range []string{"control: ", "no verdict", "the command did not run"} {
			if strings.HasPrefix(v.why, nothing) {
				return v.why, ""
			}
		}
	}
	return "", ""
}

var forRoot = regexp.MustCompile(`(?m)^(needs .*\b(root|far)\b.*|egress)$`)
var forUser = regexp.MustCompile(`(?m)^needs user$`)

// oneUser says who tries a case where only one does: root what only root can, else each
// user every other case.
func (s *suite) oneUser(t *testing.T, rows []row, users []user) map[string]user {
	one := map[string]user{}
	for i, r := range rows {
		text, err := os.ReadFile(filepath.Join(s.cases, r.name+".sh"))
		must(t, err)
		switch {
		case forRoot.Match(text):
			one[r.name] = users[0]
		case forUser.Match(text):
			one[r.name] = users[len(users)-1]
		default:
			one[r.name] = users[i%len(users)]
		}
	}
	return one
}

// each does jobs, some at a time: most of them wait most of the time.
func each[J any](jobs []J, do func(J)) {
	queue := make(chan J)
	var wg sync.WaitGroup
	for range max(4, 2*runtime.NumCPU()) {
		wg.Go(func() {
			for j := range queue {
				do(j)
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	wg.Wait()
}

// Only what was seen to pass counts as passed, and what was not tried is a failure.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		cell byte
		v    verdict
		want tally
		fail bool
	}{
		{'P', verdict{word: "PASS"}, tally{must: 1, passed: 1}, false},
		{'P', verdict{word: "FAIL", why: "the act succeeded"}, tally{must: 1}, true},
		{'P', verdict{word: "SKIP", why: "no gcc"}, tally{must: 1, skipped: 1}, false},
		{'P', verdict{word: "what"}, tally{must: 1}, true},
		{'F', verdict{word: "FAIL", why: "the act succeeded"}, tally{may: 1}, false},
		{'F', verdict{word: "PASS"}, tally{may: 1, better: 1}, false},
		{'F', verdict{word: "FAIL", why: "control: the command did not run"}, tally{may: 1}, true},
		{'F', verdict{word: "FAIL", why: "the command did not run"}, tally{may: 1}, true},
		{'F', verdict{word: "SKIP", why: "no gcc"}, tally{}, false},
	} {
		var got tally
		failure, _ := got.count(c.cell, c.v)
		if got != c.want || (failure != "") != c.fail {
			t.Errorf("%c %+v: %+v, failure %q; want %+v, %v", c.cell, c.v, got, failure, c.want, c.fail)
		}
	}
}
