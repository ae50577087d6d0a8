package process

import (
	"fmt"
	"net/netip"
	"slices"
)

// A Level is how far a process is kept apart from the machine.
type Level string

// The levels, from the strongest down.
const (
	// Auto takes the highest level that this machine can start, at least Confined or
	// Seatbelt: see Probe. Where there is none, nothing starts.
	Auto Level = ""
	// Isolated gives a process namespaces of its own (user, mount, pid, net, ipc,
	// uts), and Landlock and seccomp within them. Linux.
	Isolated Level = "isolated"
	// Confined restricts a process by Landlock and seccomp where it stands, without
	// namespaces. It has no sockets, and protected paths are not protected. Linux.
	Confined Level = "confined"
	// Seatbelt is macOS' sandbox-exec.
	Seatbelt Level = "seatbelt"
	// None keeps nothing apart but the environment, open files and the life of what
	// is started. It is never taken by itself.
	None Level = "none"
)

// Levels returns the names of the levels, for flags and files.
func Levels() []string {
	return []string{"auto", string(Isolated), string(Confined), string(Seatbelt), string(None)}
}

// ParseLevel reads the name of a level; "" and "auto" are Auto.
func ParseLevel(s string) (Level, error) {
	if s == "auto" || s == "" {
		return Auto, nil
	}
	if !slices.Contains(Levels(), s) {
		return Auto, fmt.Errorf("%q is no level of the sandbox; use auto, isolated, confined or none", s)
	}
	return Level(s), nil
}

// String returns the name of the level.
func (l Level) String() string {
	if l == Auto {
		return "auto"
	}
	return string(l)
}

// A Net says what a process reaches over the network.
type Net string

const (
	// NoNet is nothing: not even this machine. Isolated processes reach each other
	// over their own loopback.
	NoNet Net = ""
	// AllowedNet is the hosts that Sandbox.Hosts names, by HTTP and TLS, through a
	// proxy that looks names up, refuses addresses that are not public, and dials the
	// address that it checked. It needs Isolated.
	AllowedNet Net = "allow"
	// FullNet is what the caller reaches.
	FullNet Net = "full"
)

// A Sandbox says what a process may touch beside its workspace. The zero Sandbox is
// the cautious one: the highest level that there is, no network.
//
// Paths are absolute, or relative to the workspace. Those that do not exist are left
// out.
type Sandbox struct {
	Level Level
	// ReadOnly makes the workspace read-only, too. Private directories stay writable.
	ReadOnly bool
	// Writable are more places that the process may change, Readable those that it may
	// read although they lie in one that is hidden: a home, /run, /tmp.
	Writable, Readable []string
	// Hide are more places that it must not see.
	Hide []string
	// Protect are more places that it must not change, although they lie in one that is
	// writable. [Protected] are so always. Confined cannot do this.
	Protect []string

	Net Net
	// Hosts are the hosts that AllowedNet opens: "example.com", "*.example.com" (which
	// is not example.com), "example.com:8443". Without a port these are 80 and 443.
	Hosts []string
	// OnRefused, if set, is told of each host that was refused, once, and of 32 at most,
	// from any goroutine; it must not block.
	OnRefused func(Refused)
	// Resolve names addresses of hosts without a look-up, and lets these be private.
	// It is for tests.
	Resolve map[string]netip.Addr

	Limits Limits
}

// Protected are the places of a workspace that programs of others run or obey: what
// a process could plant there would run outside of its sandbox. Relative to the
// workspace.
var Protected = []string{
	".git/hooks", ".git/config", ".git/config.worktree", ".git/modules", ".git/commondir",
	".vscode", ".idea", ".cursor", ".zed", ".mcp.json", ".claude", ".codex", ".gemini", ".windsurf", ".callgate", "callgate.yaml",
}

// watched are told of when a process made them, and not protected: with HEAD, objects and
// refs a directory is a repository by itself, once its .git is spoiled.
var watched = []string{"HEAD"}

// A Refused is a host that the sandbox kept a process from.
type Refused struct {
	Host   string // as the process named it, a port perhaps included
	Reason string
}

// Limits bound what one command and all that it starts may use.
type Limits struct {
	// Processes is the most processes and threads at once; 0 means DefaultProcesses.
	// Needs Isolated; for root also a pids cgroup.
	Processes int
	// FileSize is the most bytes of a file that is written; 0 means DefaultFileSize.
	FileSize int64
	// Memory is the most bytes of memory; 0 means no limit. Of all processes together
	// where there is a memory cgroup, else the address space of each.
	Memory int64
}

// Defaults of Limits.
const (
	DefaultProcesses = 512
	DefaultFileSize  = 1 << 30
)

// complete fills in the defaults and checks what can be checked without the machine.
func (s *Sandbox) complete() error {
	if _, err := ParseLevel(string(s.Level)); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	switch s.Net {
	case NoNet, FullNet:
		if len(s.Hosts) > 0 && s.Net == NoNet {
			return fmt.Errorf("sandbox: hosts are allowed, but the network is %q and not %q", "none", AllowedNet)
		}
	case AllowedNet:
		if s.Level == Confined || s.Level == Seatbelt {
			return fmt.Errorf("sandbox: single hosts can be allowed at the level isolated only, not at %s; use no network or the full one", s.Level)
		}
	default:
		return fmt.Errorf("sandbox: %q is no network; use none, allow or full", s.Net)
	}
	if s.Limits.Processes < 0 || s.Limits.FileSize < 0 || s.Limits.Memory < 0 {
		return fmt.Errorf("sandbox: a limit is negative")
	}
	if s.Limits.Processes == 0 {
		s.Limits.Processes = DefaultProcesses
	}
	if s.Limits.FileSize == 0 {
		s.Limits.FileSize = DefaultFileSize
	}
	return nil
}
