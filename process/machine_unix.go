//go:build linux || darwin

package process

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"sync"
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
