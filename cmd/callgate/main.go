// Callgate is the boundary between a language model and the machine, as a
// command: see package cli, or run callgate help.
package main

import (
	"os"

	"github.com/callgate/callgate/internal/cli"
	"github.com/callgate/callgate/process"
)

func main() {
	process.Main() // a child of a tool is watched over by this program, started again
	os.Exit(cli.Main())
}
