package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/process"
)

// What a model is told of the sandbox that its command ran in, and when.
func TestSandboxNotes(t *testing.T) {
	failed := func(said string) process.Result {
		return process.Result{Reason: process.Exited, ExitCode: 1, Level: process.Isolated, Output: process.Stream{Head: []byte(said)}}
	}
	none := failed("mkdir: Permission denied")
	none.Level = process.None
	unprotected := failed("umount: /x: Device or resource busy")
	unprotected.Level = process.Confined
	fine := failed("mkdir: Permission denied")
	fine.ExitCode = 0
	late := failed("")
	late.Output.Tail = []byte("x\nopen /etc/x: permission denied\n")
	apart := failed("")
	apart.Stderr.Head = []byte("curl: (6) Could not resolve host: example.com")
	refused := process.Result{Reason: process.Exited, Level: process.Isolated, Refused: []process.Refused{{Host: "a.example:8443", Reason: "it is not allowed"}}}
	many := failed("fork: retry")
	many.ProcessLimit = true
	made := process.Result{Reason: process.Exited, Level: process.Isolated, Made: []string{".vscode", "HEAD"}}
	for _, tt := range []struct {
		res  process.Result
		box  process.Sandbox
		says []string // a part of each note, in order
	}{
		{failed("mkdir: cannot create directory '/x': Read-only file system"), process.Sandbox{}, []string{"it ran isolated: no network, and writes only in the workspace and its temporary directory"}},
		{failed("touch: Operation not permitted"), process.Sandbox{ReadOnly: true, Net: process.FullNet}, []string{"it ran isolated: the workspace is read-only, and writes only in its temporary directory"}},
		{failed("touch: Operation not permitted"), process.Sandbox{Net: process.FullNet}, []string{"it ran isolated: it writes only in the workspace and"}},
		{failed("error: could not write config file .git/config: Device or resource busy"), process.Sandbox{Protect: []string{"dist"}}, []string{"cannot be changed or replaced: .git/hooks, .git/config, "}},
		{failed("EBUSY: resource busy or locked"), process.Sandbox{Protect: []string{"dist"}}, []string{"callgate.yaml, dist."}},
		{unprotected, process.Sandbox{}, nil},
		{failed("dial tcp: lookup x: no such host"), process.Sandbox{Net: process.AllowedNet, Hosts: []string{"a.b", "*.c.d"}}, []string{"no network but for a.b, *.c.d"}},
		{failed("connect: Network is unreachable"), process.Sandbox{Writable: []string{"/data"}}, []string{"writes only in the workspace, /data and its temporary directory"}},
		{late, process.Sandbox{}, []string{"it ran isolated"}},
		{apart, process.Sandbox{}, []string{"it ran isolated"}},
		{failed("assertion failed"), process.Sandbox{}, nil},
		{none, process.Sandbox{Level: process.None}, nil},
		{fine, process.Sandbox{}, nil},
		{refused, process.Sandbox{Net: process.AllowedNet}, []string{"the host a.example:8443 was refused: it is not allowed. The user can open it, with --allow-host a.example:8443 or egress.allow"}},
		{made, process.Sandbox{}, []string{"it made .vscode, HEAD. "}},
		{many, process.Sandbox{}, []string{"more processes than the 512"}},
		{failed("sh: 1: Cannot fork"), process.Sandbox{}, []string{"more processes than the 512"}},
		{many, process.Sandbox{Limits: process.Limits{Processes: 3}}, []string{"more processes than the 3 "}},
	} {
		notes := sandboxNotes(tt.res, tt.box)
		if len(notes) != len(tt.says) {
			t.Errorf("%+v: %q", tt.res, notes)
			continue
		}
		for i, n := range notes {
			if !strings.HasPrefix(n, "Note: ") || !strings.Contains(n, tt.says[i]) {
				t.Errorf("%q\nis not %q", n, tt.says[i])
			}
		}
	}
}

// A program that was killed for its memory has failed, and is told how much it had.
func TestMemoryLimit(t *testing.T) {
	err := ended(process.Result{Reason: process.MemoryLimit, Duration: time.Second}, process.Sandbox{Limits: process.Limits{Memory: 64 << 20}})
	if callgate.CodeOf(err) != callgate.ExecutionError || !strings.Contains(err.Error(), "67108864 bytes") || !strings.Contains(err.Error(), "sandbox.limits.memory") {
		t.Errorf("%v", err)
	}
}

// Where the sandbox does not start, nothing runs, and the model can tell the user what
// to do.
func TestNoSandbox(t *testing.T) {
	s := newShop(t)
	if _, err := process.ParseLevel("seatbelt"); err != nil || runtime.GOOS == "darwin" {
		t.Skip("the level starts here")
	}
	s.programs.Sandbox.Level = process.Seatbelt
	r := s.call("bash", "command", "echo x > made")
	if r.Code != callgate.ExecutionError || r.State != "not_started" {
		t.Errorf("%s, %s", r.State, r.ModelText())
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err == nil {
		t.Error("it ran")
	}
}

// It is not tried again, and says what helps; another failure has nothing to do with
// the sandbox.
func TestNotStarted(t *testing.T) {
	err := notStarted("the job", fmt.Errorf("process: %w", &process.SandboxError{Err: errors.New("isolated does not start")}))
	for _, want := range []string{"the job was not started", "isolated does not start", "callgate doctor", "--sandbox none"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if callgate.CodeOf(err) != callgate.ExecutionError {
		t.Errorf("%s", callgate.CodeOf(err))
	}
	if err := notStarted("the program", os.ErrNotExist); strings.Contains(err.Error(), "doctor") {
		t.Error(err)
	}
}
