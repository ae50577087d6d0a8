//go:build linux

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/process"
)

// Where nothing is kept apart, doctor says so of each act: what it calls blocked in a
// sandbox could have been done.
func TestDoctorSeesActs(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	s, err := openSite(t.Context(), process.None)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range acts {
		o, why := s.examine(t.Context(), a)
		switch {
		case a.id == "daemon": // it ends with its call in any case
			if o != blocked {
				t.Errorf("%s: %s %s", a.id, o, why)
			}
		case a.id == "memory" && o == notBlocked, a.id == "processes" && o != blocked:
		case o == notTried && a.id == "unix_socket" && strings.HasPrefix(why, "no "):
		case o != notBlocked:
			t.Errorf("%s: %s %s", a.id, o, why)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	for _, left := range []string{s.out, s.workspace, filepath.Dir(s.workspace), filepath.Dir(s.key)} {
		if exists(left) {
			t.Errorf("doctor left %s", left)
		}
	}
}

// What did not run was not blocked.
func TestDoctorNotTried(t *testing.T) {
	s, err := openSite(t.Context(), process.None)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	act := func(script string) act {
		return act{script: script, judge: func(*site, process.Result) (outcome, string) { return blocked, "" }}
	}
	if o, why := s.try(t.Context(), act("true"), "", process.None, process.Limits{}); o != blocked {
		t.Errorf("%s %s", o, why)
	}
	if o, why := s.try(t.Context(), act("true"), "", process.Seatbelt, process.Limits{}); o != notTried || why == "" {
		t.Errorf("a level that does not start: %s %s", o, why)
	}
	if o, why := s.examine(t.Context(), act("true")); o != notTried || !strings.Contains(why, "without a sandbox") {
		t.Errorf("an act that never works: %s %s", o, why)
	}
	if o, why := s.judge(act("true"), process.Result{ExitCode: 126, Output: process.Stream{Head: []byte("sh: cannot execute")}}); o != notTried || !strings.Contains(why, "126, sh: cannot execute") {
		t.Errorf("a shell that does not run: %s %s", o, why)
	}
	missing := act("true")
	missing.needs = []string{"no-such-program-a", "no-such-program-b"}
	if o, why := s.examine(t.Context(), missing); o != notTried || why != "no no-such-program-a, no-such-program-b" {
		t.Errorf("no program: %s %s", o, why)
	}
	s.workspace = filepath.Join(s.workspace, "gone")
	if o, why := s.try(t.Context(), act("true"), "", process.None, process.Limits{}); o != notTried || why == "" {
		t.Errorf("no directory to run in: %s %s", o, why)
	}
}

func TestDoctorSound(t *testing.T) {
	of := func(outcomes ...outcome) (d diagnosis) {
		d.Level = "confined"
		for i, o := range outcomes {
			d.Acts = append(d.Acts, examinedAct{Outcome: o, Promised: i < 2})
		}
		return d
	}
	noLevel := of(blocked)
	noLevel.Level = ""
	for i, tt := range []struct {
		d    diagnosis
		want bool
	}{
		{of(blocked, blocked, blocked), true},
		{of(blocked, blocked, notBlocked), true}, // which was not promised
		{of(blocked, notTried, notTried), true},
		{of(blocked, notBlocked, blocked), false},
		{of(notTried, notTried, blocked), false},
		{of(), false},
		{noLevel, false},
	} {
		if got := sound(tt.d); got != tt.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// Where no level starts, each act says that it was not tried, and why there is none
// stands there with what helps.
func TestDoctorWithoutLevel(t *testing.T) {
	r := process.Report{Tried: []process.Trial{{Level: process.Isolated, Err: "no namespaces", Fix: "sysctl x=1"}, {Level: process.Confined, Err: "no Landlock"}}}
	d, err := diagnose(t.Context(), r)
	if err != nil || d.OK {
		t.Fatalf("%+v, %v", d, err)
	}
	var b strings.Builder
	if err := d.print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"level        none starts", "isolated     does not start: no namespaces\n             to have it: sysctl x=1\n", "not tried    write outside of the workspace: no level starts"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\nblocked") {
		t.Errorf("something is called blocked:\n%s", b.String())
	}
	raw, err := json.Marshal(d)
	if err != nil || !strings.HasPrefix(string(raw), `{"ok":false,"level":"","system":"linux","kernel":"`) || !strings.Contains(string(raw), `"notes":[],"acts":[{"id":"write_outside","title":"write outside of the workspace","outcome":"not_tried","promised":false,"reason":"no level starts"}`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// The status of a process is believed only where it says that nothing can be gained.
func TestDoctorPrivileges(t *testing.T) {
	const good = "Name:\tsh\nNoNewPrivs:\t1\nSeccomp:\t2\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n"
	for _, tt := range []struct {
		status string
		want   outcome
		says   string
	}{
		{good, blocked, ""},
		{strings.Replace(good, "Privs:\t1", "Privs:\t0", 1), notBlocked, `NoNewPrivs is "0"`},
		{strings.Replace(good, "Seccomp:\t2", "Seccomp:\t0", 1), notBlocked, `Seccomp is "0"`},
		{strings.Replace(good, "CapEff:\t0000000000000000", "CapEff:\t0000000000000400", 1), notBlocked, "CapEff"},
		{strings.Replace(good, "CapPrm:", "CapX:", 1), notBlocked, "CapPrm"},
		{"", notTried, "/proc"},
	} {
		if o, why := privileges(tt.status); o != tt.want || !strings.Contains(why, tt.says) {
			t.Errorf("%q: %s %s", tt.status, o, why)
		}
	}
}
