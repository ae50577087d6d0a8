//go:build !linux

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/callgate/callgate/internal/warden"
)

// confine resolves the sandbox of c.
func (c *Command) confine(temp string) (p *warden.Plan, private string, err error) {
	if c.Sandbox.Level != None {
		return nil, "", &SandboxError{Level: c.Sandbox.Level, Err: fmt.Errorf("there is no sandbox for %s; only the level none starts a program", runtime.GOOS)}
	}
	return nil, filepath.Join(os.TempDir(), temp), nil
}
