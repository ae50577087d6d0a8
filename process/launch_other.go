//go:build !linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/callgate/callgate/internal/warden"
)

// Main has to be the first line of func main of a program that starts processes,
// and of TestMain of its tests. It is needed on Linux only; here it does nothing.
func Main() {}

// A child is a process that we watch over ourselves.
type child struct {
	cmd   *exec.Cmd
	group group
	ended chan struct{} // when all has ended; then end is set
	end   end
	temp  string
	stops chan time.Duration
}

func launch(s spec, files [3]*os.File) (*child, error) {
	if err := os.Mkdir(s.Temp, 0o700); err != nil {
		return nil, err
	}
	c, err := start(s, files)
	if err != nil {
		warden.RemoveTemp(s.Temp)
		return nil, err
	}
	go c.follow()
	return c, nil
}

func start(s spec, files [3]*os.File) (*child, error) {
	if err := os.Mkdir(warden.PrivateHome(s.Temp), 0o700); err != nil {
		return nil, err
	}
	program, err := lookPath(s)
	if err != nil {
		return nil, err
	}
	// The streams are files, so that Wait does not wait for who holds them.
	cmd := &exec.Cmd{Path: program, Args: s.Args, Env: s.Env, Dir: s.Dir, Stdin: files[0], Stdout: files[1], Stderr: files[2]}
	if s.Plan != nil {
		if cmd.Args, err = seatbeltOf(s.Plan, s.Temp).wrap(program, s.Args); err != nil {
			return nil, &SandboxError{Level: Seatbelt, Stage: "profile", Err: err}
		}
		cmd.Path = cmd.Args[0]
	}
	c := &child{cmd: cmd, ended: make(chan struct{}), temp: s.Temp, stops: make(chan time.Duration, 2)}
	if c.group, err = startGroup(cmd, s.Sandbox.Limits); err != nil {
		return nil, err
	}
	return c, nil
}

// lookPath finds the program in the PATH and the directory that the process will
// have.
func lookPath(s spec) (string, error) {
	name := s.Args[0]
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return exec.LookPath(filepath.Join(s.Dir, name))
	}
	for _, kv := range s.Env {
		key, search, _ := strings.Cut(kv, "=")
		if !strings.EqualFold(key, "PATH") {
			continue
		}
		for _, d := range filepath.SplitList(search) {
			if !filepath.IsAbs(d) {
				d = filepath.Join(s.Dir, d)
			}
			if p, err := exec.LookPath(filepath.Join(d, name)); err == nil {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("not in PATH: %w", os.ErrNotExist)
}

// stop ends the process: gently, and after grace, or at once without one, by
// force. It does not wait.
func (c *child) stop(grace time.Duration) { c.stops <- grace }

func (c *child) follow() {
	defer close(c.ended)
	exited := make(chan error, 1)
	go func() { exited <- c.cmd.Wait() }()
	done := false
	wait := func(d time.Duration) {
		t := time.NewTimer(d)
		defer t.Stop()
		for {
			select {
			case <-exited:
				done = true
				return
			case g := <-c.stops:
				if g == 0 {
					return
				}
			case <-t.C:
				return
			}
		}
	}
	select {
	case <-exited:
		done = true
	case grace := <-c.stops:
		c.end.Stopped = true
		if grace > 0 {
			c.group.terminate()
			wait(grace)
		}
	}
	if done {
		time.Sleep(warden.Settle)
		if c.group.running() {
			c.end.Background = 1 // at least
			c.group.terminate()
			time.Sleep(warden.SettleTerm)
		}
	}
	c.group.kill()
	for begin := time.Now(); !done && time.Since(begin) < 5*time.Second; {
		wait(100 * time.Millisecond)
		c.group.kill()
	}
	c.group.close()
	if !done {
		c.end.Survivors = 1
		c.end.Code, c.end.Signal = 128+int(syscall.SIGKILL), "SIGKILL"
	} else {
		c.end.Code, c.end.Signal = status(c.cmd.ProcessState)
	}
	warden.RemoveTemp(c.temp)
}
