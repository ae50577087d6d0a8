//go:build linux

package escapes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// all is set where the parts that take long run, too: minutes instead of one.
var all = os.Getenv("CI") == "true" || os.Getenv("CALLGATE_ESCAPES") == "all"

// A user is who tries.
type user struct {
	name string // root or user
	uid  int
}

func (u user) root() bool { return u.uid == 0 }

// A suite is what all cases share.
type suite struct {
	command string // under test
	env     []string
	near    map[int]string // by uid: a directory below /tmp
	far     map[int]string // one that nothing hides, or the same
	suid    string         // a setuid program of root's
}

// A verdict is how a case came out at a level.
type verdict struct{ level, word, why string }

// newSuite builds callgate and the probe and makes the places of the cases. Nothing
// else of the machine is changed, and all of it is removed.
func newSuite(t *testing.T, users []user) *suite {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash, in which the cases are written")
	}
	root := os.Getuid() == 0
	near, err := os.MkdirTemp("/tmp", "cgesc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(near) })
	far := near
	if root {
		if far, err = os.MkdirTemp("/var/lib", "cgesc-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeAll(far) })
	}
	s := &suite{command: os.Getenv("CALLGATE_ESCAPES_COMMAND"), near: map[int]string{}, far: map[int]string{}}
	for _, dir := range []string{near, far} {
		must(t, os.Chmod(dir, 0o755))
	}
	bin := filepath.Join(far, "bin")
	must(t, os.MkdirAll(bin, 0o755))
	if s.command == "" {
		s.command = filepath.Join(bin, "callgate")
		build(t, s.command, "github.com/callgate/callgate/cmd/callgate")
	}
	probe := filepath.Join(bin, "probe")
	build(t, probe, "./testdata/probe")
	s.env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + filepath.Join(runtime.GOROOT(), "bin"),
		"LANG=C.UTF-8", "SHELL=/bin/sh", "USER=escapes", "LOGNAME=escapes", "CALLGATE=" + s.command, "PROBE=" + probe, "LIB=" + must1(filepath.Abs("lib.sh"))(t)}
	if all {
		s.env = append(s.env, "HEAVY=1")
	}
	for _, u := range users {
		for dirs, base := range map[*map[int]string]string{&s.near: near, &s.far: far} {
			dir := filepath.Join(base, u.name)
			must(t, os.MkdirAll(dir, 0o755))
			must(t, os.Chown(dir, u.uid, u.uid))
			(*dirs)[u.uid] = dir
			if far == near {
				s.far[u.uid] = dir
			}
		}
	}
	if root {
		s.asRoot(t, probe, far, users)
	}
	return s
}

// asRoot makes what only root can: the server at the ports of the web, a setuid
// program, a home of somebody else's.
func (s *suite) asRoot(t *testing.T, probe, far string, users []user) {
	t.Helper()
	if ip := startServer(t); ip != "" {
		s.env = append(s.env, "SERVERIP="+ip)
	}
	if home, err := os.MkdirTemp("/home", "cgesc-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(home) })
		must(t, os.Chmod(home, 0o755))
		must(t, os.WriteFile(filepath.Join(home, "notes"), []byte("KEY-MATERIAL\n"), 0o644))
		s.env = append(s.env, "OTHERHOME="+home)
	}
	for _, u := range users {
		if u.root() {
			continue
		}
		// In a directory that only the user of the suite can enter: the program would
		// serve everybody.
		dir := filepath.Join(far, "suid")
		must(t, os.Mkdir(dir, 0o710))
		must(t, os.Chown(dir, 0, u.uid))
		program := filepath.Join(dir, "probe")
		text, err := os.ReadFile(probe)
		must(t, err)
		must(t, os.WriteFile(program, text, 0o755))
		must(t, os.Chmod(program, 0o755|os.ModeSetuid))
		s.suid = program
	}
}

// run runs one case. A case that says nothing has failed at each level.
func (s *suite) run(name string, u user, levels []string) []verdict {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", must1(filepath.Abs("cases/"+name+".sh"))(nil))
	cmd.Env = append(slices.Clone(s.env), "LEVELS="+strings.Join(levels, " "), "NEAR="+s.near[u.uid], "FAR="+s.far[u.uid], "HOME="+s.near[u.uid])
	if !u.root() && s.suid != "" {
		cmd.Env = append(cmd.Env, "SUID="+s.suid)
	}
	cmd.Dir = s.near[u.uid]
	cmd.SysProcAttr = as(u)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it cleans up
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var vs []verdict
	for _, level := range levels {
		v := verdict{level, "FAIL", fmt.Sprintf("no verdict: %v %s", err, last(errs.String(), 400))}
		for line := range strings.Lines(out.String()) {
			f := strings.SplitN(strings.TrimSpace(line), " ", 4)
			if len(f) >= 3 && f[0] == "VERDICT" && f[1] == level {
				v = verdict{level, f[2], strings.Join(f[3:], " ")}
			}
		}
		vs = append(vs, v)
	}
	return vs
}

// as has a program run as somebody, in a session of its own.
func as(u user) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if u.uid != os.Getuid() {
		attr.Credential = &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid), Groups: []uint32{}}
	}
	return attr
}

// whoTries is root and a user without rights where root runs the tests, else whoever
// does.
func whoTries() []user {
	if os.Getuid() != 0 {
		return []user{{"user", os.Getuid()}}
	}
	return []user{{"root", 0}, {"user", 61000 + os.Getpid()%4000}}
}

// starts returns the levels that start here for a user, and why others do not.
func (s *suite) starts(u user) (can []string, why map[string]string) {
	why = map[string]string{}
	for _, level := range levels {
		cmd := exec.Command(s.command, "exec", "--sandbox", level, "--", "sh", "-c", "echo $((40+2))")
		cmd.Env = append(slices.Clone(s.env), "HOME="+s.near[u.uid])
		cmd.Dir, cmd.SysProcAttr = s.near[u.uid], as(u)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || strings.TrimSpace(out.String()) != "42" {
			why[level] = fmt.Sprintf("%v: %s", err, last(errs.String(), 400))
			continue
		}
		can = append(can, level)
	}
	return can, why
}

// TestEscapes runs each case at each level that this machine can start, as root and
// as another user where it can. CALLGATE_ESCAPES_NEED names levels that have to start:
// "isolated confined". CALLGATE_ESCAPES_COMMAND is another program to test in place of
// callgate.
func TestEscapes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	users := whoTries()
	s := newSuite(t, users)
	rows := readTable(t)
	type job struct {
		row    row
		user   user
		levels []string
	}
	var jobs []job
	for _, u := range users {
		can, why := s.starts(u)
		for level, reason := range why {
			if level == "none" || slices.Contains(strings.Fields(os.Getenv("CALLGATE_ESCAPES_NEED")), level) {
				t.Errorf("%s as %s does not start: %s", level, u.name, reason)
			} else {
				t.Logf("%s as %s is not tried: it does not start here: %s", level, u.name, reason)
			}
		}
		for _, r := range rows {
			var at []string
			for _, level := range can {
				if r.cell(level, u.root()) != '-' {
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
				failure, note := c.count(j.row.cell(v.level, j.user.root()), v)
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

// each does jobs, some at a time: most of them wait most of the time.
func each[J any](jobs []J, do func(J)) {
	queue := make(chan J)
	var wg sync.WaitGroup
	for range max(4, runtime.NumCPU()) {
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

func build(t *testing.T, out, pkg string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, text)
	}
}

func must(t *testing.T, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// must1 is must for what has a result. Without a test it panics.
func must1[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		if err != nil && t == nil {
			panic(err)
		} else if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func last(s string, n int) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-n):]
}

// removeAll removes a tree, in which directories may have no permissions.
func removeAll(dir string) {
	exec.Command("chmod", "-R", "u+rwX", dir).Run()
	os.RemoveAll(dir)
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
