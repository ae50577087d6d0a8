package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/callgate/callgate/internal/egress"
	"github.com/callgate/callgate/internal/warden"
)

// A child is our side of a helper, which is package warden in a life of its own.
type child struct {
	helper *os.Process
	ctl    *os.File
	ended  chan struct{} // when all has ended; then end is set
	end    end
	temp   string
	pid    int // of the process, which leads its session
	stops  chan time.Duration

	plan   *warden.Plan
	absent []string     // protected places that there are not
	door   *egress.Gate // nil if no host is allowed
	seen   refusals
}

// armed is set by Main: this program can be its own helper.
var armed bool

// Main has to be the first line of func main of a program that starts processes,
// and of TestMain of its tests:
//
//	func main() {
//		process.Main()
//		...
//
// It says that the program may be started a second time, under another name, to watch
// over each process. That second life ends while packages are initialized: what is
// initialized before the package that it is in, runs twice, and func main does not. On
// other systems than Linux Main does nothing.
func Main() { armed = true }

// launch starts the helper, and that the process with the given streams.
func launch(s spec, files [3]*os.File) (_ *child, err error) {
	if !armed {
		return nil, ErrNoMain
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	unix.SetNonblock(pair[0], true) // ours alone: the helper waits in its reads
	ctl, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ctl.Close()
		return nil, err
	}
	defer null.Close()
	// Nothing that the helper's runtime says may come into the output of the process,
	// and nothing that is in our environment into its own.
	helper, err := os.StartProcess("/proc/self/exe", []string{warden.Name}, &os.ProcAttr{
		Dir: "/", Env: []string{warden.Env + "=1", "GOMAXPROCS=1", "GOGC=off", "GORACE=atexit_sleep_ms=0"}, // the last one for tests: a second at each end
		Files: []*os.File{null, null, null, theirs, files[0], files[1], files[2]},
		Sys:   cloning(s.Plan),
	})
	if err != nil {
		ctl.Close()
		if s.Plan != nil && s.Plan.Isolated {
			return nil, &SandboxError{Level: Isolated, Stage: "namespaces", Err: err}
		}
		return nil, fmt.Errorf("start the helper: %w", err)
	}
	c := &child{helper: helper, ctl: ctl, ended: make(chan struct{}), temp: s.Temp, stops: make(chan time.Duration, 2), plan: s.Plan}
	theirs.Close()
	if err := c.openDoor(s.Sandbox); err != nil {
		ctl.Close()
		c.clean()
		return nil, err
	}
	c.absent = absent(s.Plan)
	req := warden.Request{Dir: []byte(s.Dir), Temp: []byte(s.Temp), Plan: s.Plan}
	for _, a := range s.Args {
		req.Args = append(req.Args, []byte(a))
	}
	for _, kv := range s.Env {
		req.Env = append(req.Env, []byte(kv))
	}
	pid, err := c.begin(req)
	if err != nil {
		ctl.Close()
		c.clean()
		return nil, err
	}
	c.pid = pid
	go c.follow()
	return c, nil
}

// begin has the helper start the process, and returns its pid; 0 if the helper
// was killed just when it did so.
func (c *child) begin(req warden.Request) (pid int, err error) {
	deadline := time.Now().Add(helperTime)
	c.ctl.SetWriteDeadline(deadline)
	err = warden.WriteFrame(c.ctl, req)
	starting := false
	for err == nil {
		// A process can stop its parent before that has told us of it.
		prod := time.AfterFunc(helperTime/20, func() { c.helper.Signal(syscall.SIGCONT) })
		var r warden.Report
		c.ctl.SetReadDeadline(deadline)
		err = warden.ReadFrame(c.ctl, &r)
		prod.Stop()
		switch {
		case err != nil && starting:
			c.helper.Kill()
			return 0, nil
		case err != nil:
		case r.Starting:
			starting = true
		case r.Listen != nil:
			err = c.serve(r.Listen)
		case r.Started != 0:
			c.ctl.SetDeadline(time.Time{}) // what comes later, a stop, may be written at any time
			return r.Started, nil
		case r.Stage != "":
			c.helper.Wait()
			err = errors.New(r.Failed)
			if r.Errno != 0 {
				err = r.Errno
				if r.Failed != "" {
					err = fmt.Errorf("%s: %w", r.Failed, r.Errno)
				}
			}
			return 0, &SandboxError{Level: levelOf(c.plan), Stage: r.Stage, Err: err}
		case r.Errno != 0 && r.Failed != "":
			err = fmt.Errorf("%s: %w", r.Failed, r.Errno)
			c.helper.Wait()
			return 0, err
		case r.Errno != 0:
			c.helper.Wait()
			return 0, r.Errno
		default:
			c.helper.Wait()
			return 0, errors.New(r.Failed)
		}
	}
	c.helper.Kill() // if it has not ended by itself
	state, _ := c.helper.Wait()
	return 0, fmt.Errorf("the helper (%v) does not answer; is process.Main the first line of main? %w", state, err)
}

// helperTime is how long a helper may take for what it does at once: a busy machine
// is slow, a stopped helper is not coming back.
const helperTime = 10 * time.Second

// stop ends the process: SIGTERM, and after grace, or at once without one,
// SIGKILL. It does not wait.
func (c *child) stop(grace time.Duration) {
	warden.WriteFrame(c.ctl, warden.Request{Grace: grace})
	c.stops <- grace
}

// follow waits for the end, and sees to it if the helper cannot.
func (c *child) follow() {
	defer close(c.ended)
	got := make(chan *warden.End, 1)
	go func() {
		var r warden.Report
		warden.ReadFrame(c.ctl, &r)
		got <- r.End
	}()
	var late, prod <-chan time.Time
	for wait := true; wait; {
		select {
		case e := <-got:
			if e != nil {
				c.end.End = *e
			} else {
				c.end.End = warden.End{Code: 128 + int(syscall.SIGKILL), Signal: "SIGKILL", Lost: true}
			}
			wait = false
		case grace := <-c.stops:
			late = time.After(grace + warden.KillTime + helperTime/2)
			prod = time.Tick(100 * time.Millisecond)
		case <-prod: // the process can stop it, again and again
			c.helper.Signal(syscall.SIGCONT)
		case <-late:
			c.helper.Kill()
			late = nil
		}
	}
	c.ctl.Close() // a helper that was only slow kills what is left now
	if c.end.Lost {
		c.helper.Kill()
	}
	c.helper.Wait()
	if c.end.Lost && !c.isolated() { // else the kernel has killed all that the helper watched over
		c.end.Survivors = warden.Sweep(c.pid, filepath.Base(c.temp))
		// What left its session and dropped its environment is still in its groups. For
		// want of memory the kernel kills the largest of a group, which the helper may be.
		if c.plan != nil {
			for i := range c.plan.Cgroups {
				c.end.Survivors = max(c.end.Survivors, c.plan.Cgroups[i].Kill())
			}
		}
	}
	c.clean()
	c.end.Refused = c.seen.list()
	if now := absent(c.plan); len(now) < len(c.absent) {
		for _, name := range c.absent {
			if !slices.Contains(now, name) {
				c.end.Made = append(c.end.Made, name)
			}
		}
	}
	unmake(c.plan)
}

func (c *child) isolated() bool { return c.plan != nil && c.plan.Isolated }

// clean removes what is left of a helper that has ended, as far as it did not do so.
func (c *child) clean() {
	if c.door != nil {
		c.door.Close()
	}
	if !c.isolated() { // else it was in memory
		warden.RemoveTemp(c.temp)
	}
	if c.plan == nil {
		return
	}
	for i := range c.plan.Cgroups {
		g := &c.plan.Cgroups[i]
		u := g.Used()
		c.end.OutOfMemory = c.end.OutOfMemory || u.OutOfMemory
		c.end.OutOfProcesses = c.end.OutOfProcesses || u.OutOfProcesses
		g.Remove()
	}
}

// unmake removes what a process made where nothing belongs. It stays in the workspace,
// whatever has become a link.
func unmake(p *warden.Plan) {
	if p == nil {
		return
	}
	for _, name := range p.Never {
		top, rel := filepath.Split(string(name))
		if within(string(p.Workspace), string(name)) {
			top, rel = string(p.Workspace), strings.TrimPrefix(string(name), string(p.Workspace)+"/")
		}
		if root, err := os.OpenRoot(top); err == nil {
			root.Remove(rel)
			root.Close()
		}
	}
}

// absent returns the protected places of a workspace that do not exist.
func absent(p *warden.Plan) (names []string) {
	if p == nil {
		return nil
	}
	root, err := os.OpenRoot(string(p.Workspace))
	if err != nil {
		return nil
	}
	defer root.Close()
	look := slices.Clone(watched)
	for _, name := range p.Protect {
		look = append(look, string(name))
	}
	for _, name := range look {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			names = append(names, name)
		}
	}
	return names
}
