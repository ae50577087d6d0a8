package process

import "sync"

// A Report says what this machine can enforce. Levels are tried, not guessed: each
// runs a program.
type Report struct {
	// Level is what Auto takes, "" if this machine can start none.
	Level Level
	// Tried are the levels from the strongest down to the first that starts.
	Tried []Trial
	// Landlock is the version of the kernel's Landlock interface, 0 if it has none.
	Landlock int
	// Notes are limits that hold on this machine at Level, a sentence each: what is
	// not enforced and what would change that.
	Notes []string
}

// Probe tries the levels from the strongest down, until one starts a program. What it
// found holds for the life of this process: a machine that is short of something later
// does not lower the level of what runs then. On Linux it needs Main.
func Probe() Report {
	probing.Do(func() { probed = probe() })
	return probed
}

var (
	probing sync.Once
	probed  Report
)

// A Trial is one level that was tried.
type Trial struct {
	Level Level
	Err   string // why it does not start, "" if it does
	Fix   string // what to install or to set
}

// A SandboxError says that a program was not started since its sandbox could not be
// set up. Nothing of the program ran.
type SandboxError struct {
	Level Level  // Auto if no level starts
	Stage string // what failed, such as "mount /tmp"; "" if there is only Err
	Err   error
	Fix   string // what to install or to set, "" if that is not known
}

func (e *SandboxError) Error() string {
	s := "sandbox"
	if e.Level != Auto {
		s += " " + e.Level.String()
	}
	s += ": "
	if e.Stage != "" {
		s += e.Stage + ": "
	}
	s += e.Err.Error()
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

func (e *SandboxError) Unwrap() error { return e.Err }
