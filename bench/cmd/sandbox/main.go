//go:build unix

// Command sandbox measures what a process costs at each level of the sandbox, in CPU
// time of all that takes part: the caller, the helper, the process. What it divides by
// is sh -c true, started by os/exec. The helper is this very program, so it links what
// the command callgate does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	_ "github.com/callgate/callgate/internal/cli" // the weight of the command

	"github.com/callgate/callgate/process"
)

// A contestant is a way to run true.
type contestant struct {
	name string
	run  func() error
	cpu  []float64 // milliseconds a run, by round
	wall []float64
}

func main() {
	process.Main()
	rounds := flag.Int("rounds", 7, "rounds, in each of which all take part in turn")
	runs := flag.Int("runs", 40, "runs of each in a round")
	flag.Parse()
	if err := measure(*rounds, *runs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(rounds, runs int) error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ws := filepath.Join(dir, "workspace")
	if err := os.Mkdir(ws, 0o755); err != nil {
		return err
	}
	all := []*contestant{{name: "sh -c true", run: exec0("sh", "-c", "true")}}
	for _, l := range []process.Level{process.None, process.Confined, process.Isolated} {
		run := func() error {
			r, err := process.Run(context.Background(), process.Command{
				Args: []string{"true"}, Env: process.Environment{Workspace: ws, Caches: filepath.Join(dir, "caches")}, Sandbox: process.Sandbox{Level: l},
			})
			if err == nil && r.ExitCode != 0 {
				err = fmt.Errorf("true ended with %d: %s", r.ExitCode, r.Output)
			}
			return err
		}
		if err := run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", l, err)
			continue
		}
		all = append(all, &contestant{name: "true, " + l.String(), run: run})
	}
	// The whole command, which starts, finds the level and starts the process.
	command := filepath.Join(dir, "callgate")
	build := exec.Command("go", "build", "-o", command, "github.com/callgate/callgate/cmd/callgate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	all = append(all, &contestant{name: "callgate exec -- true", run: exec0(command, "exec", "--workspace", ws, "--", "true")},
		&contestant{name: "callgate --help", run: exec0(command, "--help")})
	for range rounds {
		for _, c := range all {
			begin, before := time.Now(), used()
			for range runs {
				if err := c.run(); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			n := float64(runs) * 1e6
			c.cpu = append(c.cpu, float64(used()-before)/n)
			c.wall = append(c.wall, float64(time.Since(begin))/n)
		}
	}
	fmt.Println("| | CPU ms | ratio | least | most | wall ms |\n|---|--:|--:|--:|--:|--:|")
	for _, c := range all {
		ratios := make([]float64, rounds)
		for i := range ratios {
			ratios[i] = c.cpu[i] / all[0].cpu[i]
		}
		fmt.Printf("| %s | %.2f | %.1f | %.1f | %.1f | %.2f |\n", c.name, median(c.cpu), median(ratios), slices.Min(ratios), slices.Max(ratios), median(c.wall))
	}
	return nil
}

func exec0(name string, args ...string) func() error {
	return func() error { return exec.Command(name, args...).Run() }
}

// used returns the CPU time of this process and of all its children that have ended.
func used() (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return d
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
