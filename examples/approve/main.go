// Approve runs the file tools and bash in a workspace, asks a person on the
// terminal about every call that is not a read, and logs what happens.
//
//	go run ./examples/approve DIR 'COMMAND'
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/builtin"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/workspace"
)

func main() {
	process.Main() // first: a program that starts others is started again to watch over them
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: approve DIR 'COMMAND'")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, command string) error {
	ws, err := workspace.Open(dir)
	if err != nil {
		return err
	}
	defer ws.Close()
	files := &builtin.Files{Workspace: ws}
	tools, err := files.Tools()
	if err != nil {
		return err
	}
	programs := builtin.Programs{Env: process.Environment{Workspace: ws.Dir()}}
	bash, err := programs.Bash(ws)
	if err != nil {
		return err
	}
	var registry callgate.Registry
	if err := registry.Register(append(tools, bash)...); err != nil {
		return err
	}
	gate := callgate.Dispatcher{
		Approver:  ask, // the policy is the default one: local reads run, the rest asks
		Resolve:   map[string]func(string) []string{workspace.WholeKey: files.ResolveKey},
		Observers: []callgate.Observer{logEvent},
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	for _, r := range gate.Dispatch(ctx, registry.Catalog(), callgate.Calls(
		callgate.Call{ID: "1", Name: "glob", Arguments: json.RawMessage(`{"pattern": "*"}`)},
		callgate.Call{ID: "2", Name: "bash", Arguments: args},
	)) {
		fmt.Println(r)
	}
	return nil
}

// ask shows the exact bytes that would run.
func ask(_ context.Context, req callgate.Request, why callgate.Decision) (callgate.Answer, error) {
	fmt.Printf("%s %q\n(%s) run it? [y/N or a reason] ", req.Spec.Name, req.Call.Arguments, why.Reason)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	line = strings.TrimSpace(line)
	return callgate.Answer{Approved: line == "y", Message: line, By: "terminal"}, err
}

func logEvent(_ context.Context, e callgate.Event) {
	fmt.Fprintf(os.Stderr, "%s %s %s\n", e.Time.Format("15:04:05.000"), e.Kind, e.Call.Name)
}
