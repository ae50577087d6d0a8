//go:build unix

package process_test

import (
	"os/exec"
	"testing"

	"github.com/callgate/callgate/process"
)

// What the helper costs: a process with all that this package does for it, and one
// with nothing.
func BenchmarkRun(b *testing.B) {
	b.Run("process", func(b *testing.B) {
		cmd := process.Command{Args: []string{"true"}, Env: process.Environment{Workspace: b.TempDir()}, Sandbox: none}
		for b.Loop() {
			if r := run(b, cmd); r.ExitCode != 0 {
				b.Fatal(r)
			}
		}
	})
	b.Run("shell", func(b *testing.B) {
		cmd := process.Command{Args: process.Shell("true"), Env: process.Environment{Workspace: b.TempDir()}, Sandbox: none}
		for b.Loop() {
			if r := run(b, cmd); r.ExitCode != 0 {
				b.Fatal(r)
			}
		}
	})
	b.Run("plain exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain exec of a shell", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// How fast output comes through.
func BenchmarkOutput(b *testing.B) {
	const size = 64 << 20
	b.SetBytes(size)
	cmd := process.Command{Args: []string{"head", "-c", "67108864", "/dev/zero"}, Env: process.Environment{Workspace: b.TempDir()}, Sandbox: none}
	for b.Loop() {
		if r := run(b, cmd); r.Output.Total != size {
			b.Fatal(r.Output.Total)
		}
	}
}
