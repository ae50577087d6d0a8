//go:build unix

package process_test

import (
	"context"
	"fmt"
	"os"

	"github.com/callgate/callgate/process"
)

// The first line of func main is process.Main(); here it is in TestMain.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := process.Run(context.Background(), process.Command{
		Args: process.Shell(`sleep 100 & echo "hello from $(basename "$SHELL")"; exit 3`),
		Env:  process.Environment{Workspace: dir, Caller: []string{"PATH=/bin:/usr/bin", "SHELL=/bin/bash", "API_KEY=x"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(r.Output)
	fmt.Println(r.Reason, r.ExitCode)
	fmt.Println(r.Background, "ended with it;", process.WithheldLine(r.Withheld))
	// Output:
	// hello from bash
	// exited 3
	// 1 ended with it; 1 variable of the caller's environment withheld; env.pass lets one through by name
}
