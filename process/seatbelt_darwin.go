package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/warden"
)

// Probe runs a program in the sandbox. What it found holds for the life of this
// process.
func Probe() Report {
	probing.Do(func() { probed = probe() })
	return probed
}

var (
	probing sync.Once
	probed  Report
)

func probe() Report {
	t, r := Trial{Level: Seatbelt}, Report{Level: Seatbelt, Notes: NotEnforced()}
	if err := trySeatbelt(); err != nil {
		r.Level = ""
		t.Err = err.Error()
		t.Fix = "start callgate outside of another sandbox: macOS does not nest them; the level none starts programs without any"
	}
	r.Tried = []Trial{t}
	return r
}

func trySeatbelt() error {
	dir, err := os.MkdirTemp("", "callgate-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := Run(ctx, Command{
		Args: []string{"/usr/bin/true"}, Env: Environment{Workspace: dir, Caches: filepath.Join(dir, "caches"), Caller: []string{}},
		Sandbox: Sandbox{Level: Seatbelt},
	})
	if err == nil && (r.Reason != Exited || r.ExitCode != 0) {
		err = fmt.Errorf("true ended with %s, code %d: %s", r.Reason, r.ExitCode, r.Output)
	}
	return err
}

// confine resolves the sandbox of c: its level, its plan, which is nil at None, and
// the private directory of the process, whose name is temp.
func (c *Command) confine(temp string) (p *warden.Plan, private string, err error) {
	s := &c.Sandbox
	private = filepath.Join(os.TempDir(), temp)
	switch s.Level {
	case None:
		return nil, private, nil
	case Auto:
		r := Probe()
		if r.Level == "" {
			return nil, "", &SandboxError{Err: errors.New(r.Tried[0].Err), Fix: r.Tried[0].Fix}
		}
		s.Level = r.Level
	case Seatbelt:
	default:
		return nil, "", fmt.Errorf("sandbox: the level %s is one of another system; use auto, seatbelt or none", s.Level)
	}
	if s.Net == AllowedNet {
		return nil, "", errors.New("sandbox: single hosts can be allowed at the level isolated only, which macOS does not have; use no network or the full one")
	}
	workspace := c.Env.Workspace
	if workspace == "" {
		workspace = c.Dir
	}
	caches := c.Env.CacheDir()
	if caches != "" {
		if err := os.MkdirAll(caches, 0o700); err != nil {
			return nil, "", fmt.Errorf("caches: %w", err)
		}
	}
	if p, err = planFor(*s, workspace, caches, c.machine()); err != nil {
		return nil, "", fmt.Errorf("sandbox: %w", err)
	}
	return p, private, nil
}

// sockets is empty: the sandbox decides about sockets whatever their paths are.
func sockets() []string { return nil }
