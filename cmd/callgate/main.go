// Callgate is the boundary between a language model and the machine, as a
// command: see package cli, or run callgate help.
package main

import (
	"os"

	"github.com/callgate/callgate/internal/cli"
)

func main() { os.Exit(cli.Main()) }
