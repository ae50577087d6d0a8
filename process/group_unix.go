//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// NotEnforced says what this system does not keep of the promises of the package,
// a sentence each; nil if it keeps all.
func NotEnforced() []string {
	not := []string{
		"A process that leaves its session (setsid) is not found and lives on.",
		"When the caller is killed, what it started lives on, and its temporary directory stays.",
		"Open files of the caller's that are not marked close-on-exec are inherited.",
		"Background processes are counted as one.",
		"The limits of processes, memory and the size of files do not hold.",
	}
	if runtime.GOOS == "darwin" {
		not = append(not, "The sandbox (seatbelt) is untested on this platform: only a reader of our own has judged its profiles.")
	}
	return not
}

// A group is a process group.
type group struct{ id int }

// startGroup starts the program in a group of its own. Nothing bounds a group.
func startGroup(cmd *exec.Cmd, _ Limits) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return group{}, err
	}
	return group{cmd.Process.Pid}, nil
}

func (g group) terminate() {
	unix.Kill(-g.id, unix.SIGTERM)
	unix.Kill(-g.id, unix.SIGCONT)
}
func (g group) kill()         { unix.Kill(-g.id, unix.SIGKILL) }
func (g group) running() bool { return unix.Kill(-g.id, 0) == nil }
func (g group) close()        {}

func status(s *os.ProcessState) (code int, signal string) {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return s.ExitCode(), ""
}
