//go:build !linux && !darwin

package process

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/callgate/callgate/internal/warden"
)

// confine resolves the sandbox of c.
func (c *Command) confine(temp string) (p *warden.Plan, private string, err error) {
	if c.Sandbox.Level != None {
		return nil, "", &SandboxError{Level: c.Sandbox.Level, Err: errors.New(noSandbox()), Fix: fixNone}
	}
	return nil, filepath.Join(os.TempDir(), temp), nil
}

const fixNone = "choose the level none in words (--sandbox none, or sandbox: none in the configuration): the program then has the rights of its user"

func noSandbox() string { return "there is none for " + runtime.GOOS }

func probe() Report {
	return Report{Tried: []Trial{{Level: Auto, Err: noSandbox(), Fix: fixNone}}, Notes: NotEnforced()}
}
