package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/builtin"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// Opens reports whether e changes what programs see.
func (e Env) Opens() bool { return len(e.Pass) > 0 || len(e.Set) > 0 || e.Home != "" }

// Environment returns base opened by e.
func (e Env) Environment(base process.Environment) process.Environment {
	base.Pass = append(base.Pass[:len(base.Pass):len(base.Pass)], e.Pass...)
	set := maps.Clone(base.Set)
	if set == nil {
		set = make(map[string]string, len(e.Set))
	}
	maps.Copy(set, e.Set)
	base.Set = set
	if e.Home != "" {
		base.PrivateHome = e.Home == "private"
	}
	return base
}

// Tools returns the tools that the file declares, to be started by programs, each in
// the sandbox of programs as its own section has it. An error names the file and the
// line.
func (f *File) Tools(programs *builtin.Programs, ws *workspace.Workspace) ([]callgate.Tool, error) {
	dir, err := filepath.Abs(f.Dir())
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one, a path that needs it is an error
	var tools []callgate.Tool
	for i := range f.Commands {
		c := &f.Commands[i]
		at := fmt.Sprintf("/commands/%d", i)
		timeout, err := c.timeout()
		if err != nil {
			return nil, f.doc.Fault(at+"/timeout", "%v", err)
		}
		box, err := c.Confine.Sandbox(programs.Sandbox, home)
		if err != nil {
			return nil, f.doc.Fault(at+"/sandbox", "%v", err)
		}
		t, err := programs.Command(builtin.Command{
			Spec: callgate.Spec{
				Name: c.Name, Title: c.Title, Description: c.Description, InputSchema: []byte(c.InputSchema), OutputSchema: []byte(c.OutputSchema),
				Annotations: c.Annotations, TimeoutMS: timeout.Milliseconds(), OutputLimit: int(c.OutputLimit), Repair: c.Repair, Labels: c.Labels,
			},
			Args:    program(dir, c.Command),
			Env:     c.Env.Environment(programs.Env),
			Sandbox: &box,
			Access:  c.access(ws.LexicalKey),
		})
		if err != nil {
			return nil, f.doc.Fault(at, "%v", err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// timeout returns the time limit of a call, 0 if the file has none.
func (c *Command) timeout() (time.Duration, error) {
	if c.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(c.Timeout)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return 0, fmt.Errorf("the time limit %q is not between 1ms and 24h", c.Timeout)
	}
	return d, nil
}

// program returns the arguments with a program that lies beside the file under
// its whole name.
func program(dir string, args []string) []string {
	args = append([]string(nil), args...)
	if p := filepath.ToSlash(args[0]); strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") {
		args[0] = filepath.Join(dir, filepath.FromSlash(p))
	}
	return args
}
