package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/builtin"
	"github.com/callgate/callgate/config"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

// record SESSION DIR TURN.json... runs turns in the workspace DIR, by its
// configuration and with everything allowed, and records them in the user's journal.
func recordCommand(ts *testscript.TestScript, _ bool, args []string) {
	session, dir := args[0], ts.MkAbs(args[1])
	ws, err := workspace.Open(dir)
	ts.Check(err)
	defer ws.Close()
	programs := &builtin.Programs{Env: process.Environment{Workspace: dir}}
	file, err := config.Load(filepath.Join(dir, "callgate.yaml"))
	ts.Check(err)
	tools, err := file.Tools(programs, ws)
	ts.Check(err)
	files, err := (&builtin.Files{Workspace: ws}).Tools()
	ts.Check(err)
	var registry callgate.Registry
	ts.Check(registry.Register(append(tools, files...)...))
	path := filepath.Join(ts.Getenv("XDG_STATE_HOME"), "callgate", "journal.db")
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	j, err := journal.Open(path, journal.Options{})
	ts.Check(err)
	defer j.Close()
	s, err := j.Begin(session, journal.About{Workspace: dir})
	ts.Check(err)
	gate := callgate.Dispatcher{Policy: callgate.AllowAll, Executor: j.Executor(nil), Observers: []callgate.Observer{j.Observer()}}
	for i, name := range args[2:] {
		turn := callgate.Turn{Session: s.ID(), Number: i}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &turn))
		gate.Dispatch(context.Background(), registry.Catalog(), turn)
	}
}
