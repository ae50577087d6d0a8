package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/internal/yamlfile"
	"github.com/callgate/callgate/process"
	"github.com/callgate/callgate/schema"
)

// Confine says what programs may touch: of all of them at the top of a file, of one
// where that is declared. What is not said is as it was. The zero Confine says nothing.
type Confine struct {
	Box    Sandbox `json:"sandbox,omitzero" description:"What programs may touch: a level (auto, isolated, confined, none), or more."`
	Egress Egress  `json:"egress,omitzero" description:"Hosts that programs reach."`
}

// A Sandbox is the section of that name. It is also written as the word that is its
// level.
type Sandbox struct {
	Level string `json:"level,omitempty" description:"auto takes the highest that this machine can start, and needs one; none is no sandbox. auto if nothing says otherwise." enum:"auto,isolated,confined,seatbelt,none"`
	RO    *bool  `json:"ro,omitempty" description:"The workspace can be read only."`
	Net   string `json:"net,omitempty" description:"What is reached over the network: none, the hosts of egress.allow, or all. none if nothing says otherwise." enum:"none,allow,full"`
	// Paths are absolute, below the home (~/x), or relative to the workspace.
	Writable []string  `json:"writable,omitempty" description:"More places that may be changed. Relative paths lie in the workspace, ~ is your home." minLength:"1"`
	Readable []string  `json:"readable,omitempty" description:"Places that may be read although they lie in a hidden one, such as a home." minLength:"1"`
	Hide     []string  `json:"hide,omitempty" description:"More places that are not seen." minLength:"1"`
	Protect  []string  `json:"protect,omitempty" description:"More places that may not be changed although they lie in a writable one." minLength:"1"`
	Limits   BoxLimits `json:"limits,omitzero" description:"What one command and all that it starts may use."`

	word bool // it was written as a word, which faults point to
}

// BoxLimits bound what one command and all that it starts may use; 0 says nothing.
type BoxLimits struct {
	Processes int64 `json:"processes,omitzero" description:"Most processes and threads at once. 512 if nothing says otherwise." minimum:"1" maximum:"4194304"`
	FileSize  Size  `json:"fileSize,omitzero" description:"Most bytes of a file that is written. 1GiB if nothing says otherwise."`
	Memory    Size  `json:"memory,omitzero" description:"Most bytes of memory. No limit if nothing says otherwise."`
}

// Egress opens the network for some hosts.
type Egress struct {
	Allow []string `json:"allow,omitempty" description:"Hosts: example.com, *.example.com (which is not example.com), example.com:8443. Without a port, 80 and 443." pattern:"^[^\\s/@?#]+$" maxLength:"260"`
}

// A Size is a number of bytes. It is written as a number or with a unit: 512MiB.
type Size int64

// JSONSchema describes both forms; the strings are those that [ParseSize] takes.
func (Size) JSONSchema() []byte {
	return []byte(`{"type":["integer","string"],"minimum":1,"maximum":9223372036854775807,"pattern":"^([1-9][0-9]{0,5} ?[KMGT](iB)?|[1-9][0-9]{0,17})$"}`)
}

// UnmarshalJSON reads both forms.
func (s *Size) UnmarshalJSON(data []byte) error {
	text := string(data)
	if jsontext.Value(data).Kind() == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	} else if err := json.Unmarshal(data, (*int64)(s)); err == nil {
		return nil // 2e3, too
	}
	n, err := ParseSize(text)
	*s = Size(n)
	return err
}

// JSONSchema describes the word and the object. It is no choice of two schemas, so
// that a fault in the object is told where it stands.
func (Sandbox) JSONSchema() []byte {
	type object Sandbox // without this method
	raw, err := schema.For[object]()
	if err != nil {
		panic(err) // a test would have seen it
	}
	o := map[string]jsontext.Value{}
	if err := json.Unmarshal(raw, &o); err != nil {
		panic(err)
	}
	o["type"] = jsontext.Value(`["object","string"]`)
	o["pattern"] = jsontext.Value(`"^(auto|isolated|confined|seatbelt|none)$"`)
	raw, err = json.Marshal(o, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return raw
}

// UnmarshalJSON reads both forms.
func (s *Sandbox) UnmarshalJSON(data []byte) error {
	if jsontext.Value(data).Kind() == '"' {
		s.word = true
		return json.Unmarshal(data, &s.Level)
	}
	type object Sandbox
	return json.Unmarshal(data, (*object)(s), json.RejectUnknownMembers(true))
}

// IsZero reports whether the section says nothing.
func (s Sandbox) IsZero() bool {
	return s.Level == "" && s.RO == nil && s.Net == "" && s.Limits == BoxLimits{} &&
		len(s.Writable)+len(s.Readable)+len(s.Hide)+len(s.Protect) == 0
}

// IsZero reports whether the section says nothing.
func (e Egress) IsZero() bool { return len(e.Allow) == 0 }

// level returns the level that the section names; ok is false if it names none.
func (s Sandbox) level() (l process.Level, ok bool) {
	l, err := process.ParseLevel(s.Level)
	return l, err == nil && s.Level != ""
}

// at returns where in the section, or beside it, what a fault is about stands.
func (s Sandbox) at(key string) string {
	if s.word {
		return "sandbox"
	}
	return "sandbox/" + key
}

// Sandbox returns base as c has it: what c names goes before what base has, lists
// grow. An allow list opens the network for its hosts alone. home is the directory
// that ~ stands for; where it is not known, a path that needs it is an error.
func (c Confine) Sandbox(base process.Sandbox, home string) (process.Sandbox, error) {
	s := c.Box
	if l, ok := s.level(); ok {
		base.Level = l
	}
	if s.RO != nil {
		base.ReadOnly = *s.RO
	}
	switch s.Net {
	case "none":
		base.Net, base.Hosts = process.NoNet, nil
	case "allow", "full":
		base.Net = process.Net(s.Net)
	}
	if len(c.Egress.Allow) > 0 {
		base.Net, base.Hosts = process.AllowedNet, joined(base.Hosts, c.Egress.Allow)
	}
	for _, list := range []struct {
		to   *[]string
		from []string
	}{{&base.Writable, s.Writable}, {&base.Readable, s.Readable}, {&base.Hide, s.Hide}, {&base.Protect, s.Protect}} {
		var paths []string
		for _, p := range list.from {
			p, err := expand(p, home)
			if err != nil {
				return base, err
			}
			paths = append(paths, p)
		}
		*list.to = joined(*list.to, paths)
	}
	if s.Limits.Processes > 0 {
		base.Limits.Processes = int(s.Limits.Processes)
	}
	if s.Limits.FileSize > 0 {
		base.Limits.FileSize = int64(s.Limits.FileSize)
	}
	if s.Limits.Memory > 0 {
		base.Limits.Memory = int64(s.Limits.Memory)
	}
	return base, nil
}

// joined returns a list of its own, nil if it is empty.
func joined(a, b []string) []string { return append(append([]string(nil), a...), b...) }

// expand returns a path with the home for ~.
func expand(p, home string) (string, error) {
	rest, ok := strings.CutPrefix(filepath.ToSlash(p), "~/")
	if !ok && p != "~" {
		return p, nil
	}
	if home == "" {
		return "", fmt.Errorf("%s lies in a home, and it is not known where that is; set HOME or name the whole path", p)
	}
	return filepath.Join(home, strings.TrimPrefix(rest, "~")), nil
}

// strength orders the levels. Auto may turn out to be confined, so isolated is more;
// it may turn out to be isolated, so confined is less.
var strength = map[process.Level]int{process.None: 0, process.Confined: 1, process.Seatbelt: 1, process.Auto: 2, process.Isolated: 3}

// Tightening returns the part of c that makes base tighter or leaves it as it is, and
// the keys that would loosen it, as JSON Pointers without the first slash. It is for
// files that nobody vouches for: a more isolated level, a read-only workspace, no
// network, hidden and protected places and lower limits count, all else does not.
func (c Confine) Tightening(base process.Sandbox) (kept Confine, loosens []string) {
	s := c.Box
	not := func(yes bool, key string) bool {
		if yes {
			loosens = append(loosens, key)
		}
		return yes
	}
	if l, ok := s.level(); ok && not(strength[l] < strength[base.Level] || l == process.Seatbelt && base.Level == process.Confined, s.at("level")) {
		s.Level = ""
	}
	if s.RO != nil && not(!*s.RO && base.ReadOnly, "sandbox/ro") {
		s.RO = nil
	}
	if s.Net != "" && not(s.Net != "none" && s.Net != string(base.Net), "sandbox/net") {
		s.Net = ""
	}
	if not(len(s.Writable) > 0, "sandbox/writable") {
		s.Writable = nil
	}
	if not(len(s.Readable) > 0, "sandbox/readable") {
		s.Readable = nil
	}
	most := base.Limits
	if most.Processes == 0 {
		most.Processes = process.DefaultProcesses
	}
	if most.FileSize == 0 {
		most.FileSize = process.DefaultFileSize
	}
	if not(s.Limits.Processes > int64(most.Processes), "sandbox/limits/processes") {
		s.Limits.Processes = 0
	}
	if not(int64(s.Limits.FileSize) > most.FileSize, "sandbox/limits/fileSize") {
		s.Limits.FileSize = 0
	}
	if not(most.Memory > 0 && int64(s.Limits.Memory) > most.Memory, "sandbox/limits/memory") {
		s.Limits.Memory = 0
	}
	not(len(c.Egress.Allow) > 0, "egress/allow")
	return Confine{Box: s}, loosens
}

// consistent returns what the schema cannot say about the section at a place.
func (c Confine) consistent(doc *yamlfile.Document, at string) (faults []*yamlfile.Error) {
	if len(c.Egress.Allow) > 0 && c.Box.Net != "" && c.Box.Net != "allow" {
		faults = append(faults, doc.Fault(at+"/egress/allow", "hosts are allowed, but sandbox.net says %s; leave one of them out", c.Box.Net))
	}
	if l, ok := c.Box.level(); ok && len(c.Egress.Allow) > 0 && l != process.Isolated && l != process.Auto && l != process.None {
		faults = append(faults, doc.Fault(at+"/egress/allow", "single hosts need the level isolated, and sandbox.level says %s", l))
	}
	return faults
}
