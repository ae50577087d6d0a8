package process

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/callgate/callgate/internal/egress"
	"github.com/callgate/callgate/internal/warden"
)

// maxRefused is how many refused hosts a Result names.
const maxRefused = 32

// refusals are the hosts that a process was kept from.
type refusals struct {
	mu   sync.Mutex
	seen []Refused
	tell func(Refused)
}

func (r *refusals) add(host, reason string) {
	one := Refused{host, reason}
	r.mu.Lock()
	first := len(r.seen) < maxRefused && !slices.Contains(r.seen, one)
	if first {
		r.seen = append(r.seen, one)
	}
	r.mu.Unlock()
	if first && r.tell != nil {
		r.tell(one)
	}
}

func (r *refusals) list() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// openDoor makes what serves the listeners of an isolated process, if hosts are
// allowed.
func (c *child) openDoor(s *Sandbox) error {
	if c.plan == nil || len(c.plan.Listeners) == 0 {
		return nil
	}
	c.seen.tell = s.OnRefused
	c.door = &egress.Gate{Fixed: s.Resolve, OnRefused: c.seen.add}
	for _, h := range s.Hosts {
		p, err := egress.ParsePattern(h)
		if err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
		c.door.Allow = append(c.door.Allow, p)
	}
	return nil
}

// serve takes the listeners that the helper passes, and serves them.
func (c *child) serve(kinds []string) error {
	if c.door == nil || len(kinds) > len(egress.Listeners) {
		return fmt.Errorf("the helper passes %d listeners that nobody asked for", len(kinds))
	}
	files, err := warden.TakeListeners(c.ctl, len(kinds))
	if err != nil {
		closeAll(files)
		return &SandboxError{Level: levelOf(c.plan), Stage: "egress", Err: err}
	}
	for i, f := range files {
		if err := c.door.Serve(kinds[i], f); err != nil {
			closeAll(files[i:])
			return &SandboxError{Level: levelOf(c.plan), Stage: "egress", Err: err}
		}
	}
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// proxyVariables are what tells programs of the proxy.
var proxyVariables = map[string]string{
	"HTTP_PROXY": proxyURL, "HTTPS_PROXY": proxyURL, "ALL_PROXY": proxyURL,
	"http_proxy": proxyURL, "https_proxy": proxyURL, "all_proxy": proxyURL,
	"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1",
	"npm_config_proxy": proxyURL, "npm_config_https_proxy": proxyURL,
	"NODE_USE_ENV_PROXY": "1",
}

const proxyURL = "http://127.0.0.1:3128"
