//go:build linux

package escapes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Programs in place of callgate that do nothing, or nothing but look as if they did,
// and one that runs each command without any sandbox. What they pass proves nothing.
var noops = []struct{ name, acts, text string }{
	{"true", "yes", "exit 0"},
	{"false", "yes", "echo 'callgate: no sandbox' >&2; exit 125"},
	{"echo", "yes", `echo "$@"`},
	{"timeout", "yes", "exit 124"},
	{"silent", "runs", `while [ "$1" != -- ]; do shift; done; shift; "$@" >/dev/null 2>&1; exit $?`},
}

// With a program that does nothing in place of callgate no case passes. Each of these
// programs has a fifth of the cases, so that each case meets one; outside of CI a
// thirtieth.
func TestNothingScoresNothing(t *testing.T) {
	leaveOut(t)
	u := whoTries()[0]
	s := newSuite(t)
	for i, noop := range noops {
		t.Run(noop.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), noop.name)
			must(t, os.WriteFile(program, []byte("#!/bin/sh\n"+noop.text+"\n"), 0o755))
			s := *s
			s.command = program
			// Without controls, which would fail: what is asked is what a case says of its
			// attempt.
			s.env = append(slices.Clip(s.env), "HEAVY=", "NOOP="+noop.acts)
			var rows []row
			for n, r := range readTable(t) {
				if n%len(noops) == i && all || n%(6*len(noops)) == i {
					rows = append(rows, r)
				}
			}
			var mu sync.Mutex
			failed := 0
			each(rows, func(r row) {
				for _, v := range s.run(r.name, u, []string{"isolated"}) {
					mu.Lock()
					if v.word == "PASS" {
						t.Errorf("%s passes", r.name)
					} else if v.word == "FAIL" && !strings.HasPrefix(v.why, "no verdict") {
						failed++
					}
					mu.Unlock()
				}
			})
			if failed < len(rows)/3 {
				t.Errorf("%d of %d cases came to an end: too few were tried", failed, len(rows))
			}
		})
	}
}
