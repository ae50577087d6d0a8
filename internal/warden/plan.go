// Package warden is the program that watches over a process: it makes the sandbox,
// starts the process in it, waits for all that comes of it, and ends it. It is this
// very executable under another name, and lives in the initialization of this package.
// So the package imports little: what is initialized before it, is for each process
// anew. Package process has the policy and the other end of the conversation.
package warden

import (
	"encoding/base64"
	"time"
)

// An Access is what a place is to a process.
type Access byte

// What a place can be.
const (
	Hidden   Access = 'h' // there is nothing, or an empty directory
	Private  Access = 'p' // an empty directory of its own, which it may fill
	Readable Access = 'r'
	Writable Access = 'w'
)

// A Place is a path and what it is to the process. Of the places that a file lies in,
// the one with the longest path decides.
type Place struct {
	Path   Path
	Access Access
	Dir    bool
}

// A Plan is what a sandbox comes to on a machine: every path absolute and without
// links, none that does not exist. It is data, so that it can be tested and sent.
type Plan struct {
	// Isolated: the process gets namespaces of its own. Else it is restricted where it
	// stands.
	Isolated  bool
	Workspace Path
	Places    []Place // what contains comes before what it contains
	Protect   []Path  // in the workspace, relative to it; existing or not
	// Never are files that no repository has which git made, and that have git run what
	// they say. They did not exist. What the process makes there the caller removes.
	Never     []Path
	FullNet   bool       // else none, but for the listeners
	Listeners []Listener // to be made in the namespace of the process and passed out
	Resolv    Path       // the file of name servers, "" if there is none
	Processes int
	FileSize  int64
	Cgroups   []Cgroup
	// AddressSpace bounds each process where no cgroup bounds the memory of all; 0 if one
	// does, or nothing shall.
	AddressSpace int64
}

// A Listener is a socket that is made in the namespace of the process.
type Listener struct {
	Kind string
	UDP  bool
	IP   [4]byte
	Port uint16
}

// A Path is a path, which need not be text. JSON has it in base64.
type Path string

// MarshalText implements encoding.TextMarshaler.
func (p Path) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(p)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Path) UnmarshalText(b []byte) error {
	d, err := base64.StdEncoding.DecodeString(string(b))
	*p = Path(d)
	return err
}

// A Cgroup is a control group that is made for one command (cgroups(7)). The helper
// joins it before it starts the process, so that all is counted from the first fork
// on, and removes it if the caller cannot.
type Cgroup struct {
	Up    Path // directory in which it is made
	Name  string
	Home  Path // where the helper was before
	Files []Setting
}

// A Setting is a file of a cgroup and what is written to it.
type Setting struct{ File, Value string }

// An End is how a process ended.
type End struct {
	Code       int
	Signal     string
	Stopped    bool // after it was told to
	Background int  // processes that still ran when it had ended
	Survivors  int  // those that could not be killed
	Lost       bool // the warden was killed

	OutOfMemory    bool // the kernel killed one of them for the limit of memory
	OutOfProcesses bool // they wanted more processes than they may have
}

// DefaultPath is where programs are looked for without PATH.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// After the process has exited, what it started has Settle to end by itself and
// SettleTerm more to heed SIGTERM: 250 ms together.
const (
	Settle     = 100 * time.Millisecond
	SettleTerm = 150 * time.Millisecond
)
