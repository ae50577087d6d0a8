package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/callgate/callgate/internal/warden"
)

func probe() Report {
	t, r := Trial{Level: Seatbelt}, Report{Level: Seatbelt, Notes: NotEnforced()}
	if err := try(Seatbelt); err != nil {
		r.Level = ""
		t.Err = err.Error()
		t.Fix = "start callgate outside of another sandbox: macOS does not nest them; the level none starts programs without any"
	}
	r.Tried = []Trial{t}
	return r
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
	if p, err = c.plan(); err != nil {
		return nil, "", err
	}
	return p, private, nil
}

// sockets is empty: the sandbox decides about sockets whatever their paths are.
func sockets() []string { return nil }
