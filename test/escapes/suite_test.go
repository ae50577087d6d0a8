//go:build linux

package escapes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A user is who tries.
type user struct {
	name string // root or user
	uid  int
}

func (u user) root() bool { return u.uid == 0 }

// A suite is what all cases share.
type suite struct {
	command string // under test
	id      string // a number that is in the arguments or the environment of all that runs
	env     []string
	near    map[int]string // by uid: a directory below /tmp
	far     map[int]string // one that nothing hides, or the same
	suid    string         // a setuid program of root's
	cases   string         // the scripts
	bin     string         // where the programs are that everybody runs
}

// A verdict is how a case came out at a level.
type verdict struct{ level, word, why string }

// places makes the suite when a test first asks for it. TestMain removes it.
var places struct {
	once sync.Once
	*suite
	undo []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, undo := range slices.Backward(places.undo) {
		undo()
	}
	os.Exit(code)
}

// newSuite builds callgate and the probe and makes the places of the cases, once for
// all tests. Nothing else of the machine is changed, and all of it is removed, by the
// janitor where this process is killed.
func newSuite(t *testing.T) *suite {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash, in which the cases are written")
	}
	places.once.Do(func() { places.suite = makeSuite(t) })
	if places.suite == nil {
		t.Fatal("no places: see the first test that failed")
	}
	return places.suite
}

func makeSuite(t *testing.T) *suite {
	users := whoTries()
	prefix := fmt.Sprintf("cgesc-%d-", os.Getpid())
	undo := func(f func()) { places.undo = append(places.undo, f) }
	near, err := os.MkdirTemp("/tmp", prefix)
	must(t, err)
	undo(func() { removeAll(near) })
	far, dirs := near, []string{near}
	if os.Getuid() == 0 {
		far, err = os.MkdirTemp("/var/lib", prefix)
		must(t, err)
		undo(func() { removeAll(far) })
		dirs = append(dirs, far)
	}
	for _, dir := range dirs {
		must(t, os.Chmod(dir, 0o755))
	}
	s := &suite{command: os.Getenv("CALLGATE_ESCAPES_COMMAND"), near: map[int]string{}, far: map[int]string{},
		bin: filepath.Join(far, "bin"), id: fmt.Sprintf("%d%d", os.Getpid(), time.Now().UnixNano())}
	s.cases, err = filepath.Abs("cases")
	must(t, err)
	must(t, os.MkdirAll(s.bin, 0o755))
	probe := filepath.Join(s.bin, "probe")
	build(t, probe, "./testdata/probe")
	var other string
	if os.Getuid() == 0 {
		if other, err = os.MkdirTemp("/home", prefix); err == nil {
			undo(func() { os.RemoveAll(other) })
			dirs = append(dirs, other)
		}
	}
	undo(s.janitor(t, probe, dirs))
	if s.command == "" {
		s.command = filepath.Join(s.bin, "callgate")
		build(t, s.command, "github.com/callgate/callgate/cmd/callgate")
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if program, err := exec.LookPath("go"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			path += ":" + filepath.Dir(program)
		}
	}
	s.env = []string{"PATH=" + path, "LANG=C.UTF-8", "SHELL=/bin/sh", "USER=escapes", "LOGNAME=escapes", "PROBE=" + probe, "RUN=" + s.id}
	for _, u := range users {
		for _, base := range []string{near, far} {
			dir := filepath.Join(base, u.name)
			must(t, os.MkdirAll(dir, 0o755))
			must(t, os.Chown(dir, u.uid, u.uid))
		}
		s.near[u.uid], s.far[u.uid] = filepath.Join(near, u.name), filepath.Join(far, u.name)
		// A link to it costs less than a copy, and takes one that the user owns.
		own := filepath.Join(s.near[u.uid], "probe")
		text, err := os.ReadFile(probe)
		must(t, err)
		must(t, os.WriteFile(own, text, 0o755))
		must(t, os.Chown(own, u.uid, u.uid))
	}
	if os.Getuid() == 0 {
		s.asRoot(t, probe, far, other, users)
	}
	return s
}

// janitor starts a program that waits until this process is gone, however it ends, and
// then ends what runs of the cases and removes dirs. It returns what ends it.
func (s *suite) janitor(t *testing.T, probe string, dirs []string) func() {
	cmd := exec.Command(probe, append([]string{"janitor", s.id}, dirs...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt of the terminal does not reach it
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	return func() {
		in.Close()
		cmd.Wait()
	}
}

// asRoot makes what only root can: the server at the ports of the web, a setuid
// program, a home of somebody else's.
func (s *suite) asRoot(t *testing.T, probe, far, other string, users []user) {
	t.Helper()
	if ip := startServer(t); ip != "" {
		s.env = append(s.env, "SERVERIP="+ip)
	}
	if other != "" {
		must(t, os.Chmod(other, 0o755))
		must(t, os.WriteFile(filepath.Join(other, "notes"), []byte("KEY-MATERIAL\n"), 0o644))
		s.env = append(s.env, "OTHERHOME="+other)
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

// warmGo makes a cache of Go's with what the case of Go needs of the standard library,
// which each attempt would compile anew.
func (s *suite) warmGo(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/warm\n\ngo 1.21\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { println(1) }\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "main_test.go"), []byte("package main\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {}\n"), 0o644))
	steps := [][]string{{"build", "-o", os.DevNull, "."}, {"vet", "."}, {"test", "."}}
	cache := filepath.Join(s.bin, "gocache")
	for _, step := range steps {
		cmd := exec.Command("go", step...)
		cmd.Dir = dir
		cmd.Env = append(slices.Clone(s.env), "GOCACHE="+cache, "CGO_ENABLED=0", "HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("go %s: %v\n%s", step[0], err, out) // the case says what it comes to
			return
		}
	}
	s.env = append(s.env, "GOWARM="+cache)
}

// run runs one case. A case that says nothing has failed at each level.
func (s *suite) run(name string, u user, levels []string) []verdict {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(s.cases, name+".sh"))
	cmd.Env = append(slices.Clone(s.env), "CALLGATE="+s.command, "LEVELS="+strings.Join(levels, " "), "NEAR="+s.near[u.uid], "FAR="+s.far[u.uid], "HOME="+s.near[u.uid])
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

// landlock returns the version of the kernel's Landlock, 0 if it has none:
// landlock_create_ruleset(2).
func landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
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

func last(s string, n int) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-n):]
}

// removeAll removes a tree, in which directories may have no permissions.
func removeAll(dir string) {
	exec.Command("chmod", "-R", "u+rwX", dir).Run()
	os.RemoveAll(dir)
}
