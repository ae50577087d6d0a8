//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/warden"
)

// machine returns what the plan of c depends on.
func (c *Command) machine() machine {
	m := machine{root: os.Getuid() == 0, homes: homes(), temps: []string{"/tmp", "/var/tmp"}, sockets: sockets(), linked: linkedTree, find: find}
	if t := os.TempDir(); !within(c.Env.Workspace, t) {
		m.temps = append(m.temps, t)
	}
	search := c.Env.caller()["PATH"]
	if set, ok := c.Env.Set["PATH"]; ok {
		search = set
	}
	for _, d := range filepath.SplitList(search) {
		if filepath.IsAbs(d) {
			m.path = append(m.path, d)
		}
	}
	return m
}

// shown returns the sandbox with the program that the caller names in sight, wherever it
// lies.
func (c *Command) shown() Sandbox {
	s := c.Sandbox
	if filepath.IsAbs(c.Args[0]) {
		s.Readable = append(slices.Clone(s.Readable), c.Args[0])
	}
	return s
}

// plan resolves the sandbox of c, of which the level is chosen.
func (c *Command) plan() (*warden.Plan, error) {
	workspace := c.Env.Workspace
	if workspace == "" {
		workspace = c.Dir
	}
	caches := c.Env.CacheDir()
	if caches != "" {
		if err := os.MkdirAll(caches, 0o700); err != nil {
			return nil, fmt.Errorf("caches: %w", err)
		}
	}
	p, err := planFor(c.shown(), workspace, caches, c.machine())
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return p, nil
}

// try runs a program at a level.
func try(l Level) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := Run(ctx, Command{
		// Nothing is made for it that a kill could leave behind.
		Args: []string{"true"}, Env: Environment{Workspace: "/", Caller: []string{}}, Sandbox: Sandbox{Level: l, ReadOnly: true},
	})
	var se *SandboxError
	switch {
	case errors.As(err, &se):
		se.Level = Auto // the caller names it
		return fmt.Errorf("%s: %w", se.Stage, se.Err)
	case err != nil:
		return err
	case r.Reason != Exited || r.ExitCode != 0:
		return fmt.Errorf("true ended with %s, code %d: %s", r.Reason, r.ExitCode, r.Output)
	}
	return nil
}

// find is for machine.find.
func find(path string) (real string, dir, ok bool) {
	st, err := os.Stat(path)
	if err != nil { // most do not exist, and this takes one step
		return "", false, false
	}
	real, err = filepath.EvalSymlinks(path)
	return real, st.IsDir(), err == nil
}

// homes are the home directories of the caller: by its environment, which names where
// its programs keep their secrets, and by the list of users.
func homes() (dirs []string) {
	if h := os.Getenv("HOME"); filepath.IsAbs(h) && filepath.Clean(h) != "/" {
		dirs = append(dirs, filepath.Clean(h))
	}
	if h := listedHome(); filepath.IsAbs(h) && h != "/" && !slices.Contains(dirs, h) {
		dirs = append(dirs, h)
	}
	return dirs
}

var listedHome = sync.OnceValue(func() string {
	u, err := user.Current()
	if err != nil || u.HomeDir == "/nonexistent" {
		return ""
	}
	return filepath.Clean(u.HomeDir)
})
