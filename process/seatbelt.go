package process

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/internal/warden"
)

// A seatbelt is what macOS' sandbox is told of a process. Paths are absolute, clean
// and without links on the way: the kernel compares them with what it has resolved
// (/private/tmp for /tmp).
//
// Of the places that a file lies in, the one with the longest path decides; for one
// path that is given twice, hidden goes before readable before writable. Protected
// places cannot be written whatever else is said of them.
type seatbelt struct {
	Workspace string
	ReadOnly  bool   // the workspace
	Temp      string // writable
	Caches    string // writable, "" for none

	Hide, Readable, Writable []string
	// Protect are places that need not exist. Their letters are compared without
	// case, as the file systems of macOS do.
	Protect []string
	FullNet bool
}

// seatbeltOf returns what a plan comes to for a process whose private directory is
// temp. Directories that the plan has private are hidden: the kernel gives a process
// no files of its own there, and temp is what it has.
func seatbeltOf(p *warden.Plan, temp string) seatbelt {
	if real, err := filepath.EvalSymlinks(temp); err == nil {
		temp = real
	}
	s := seatbelt{Workspace: string(p.Workspace), Temp: temp, FullNet: p.FullNet}
	for _, at := range p.Places {
		name := string(at.Path)
		switch at.Access {
		case warden.Writable:
			s.Writable = append(s.Writable, name)
		case warden.Readable:
			s.Readable = append(s.Readable, name)
			s.ReadOnly = s.ReadOnly || at.Path == p.Workspace
		default:
			s.Hide = append(s.Hide, name)
		}
	}
	if p.Resolv != "" {
		s.Readable = append(s.Readable, string(p.Resolv))
	}
	for _, name := range p.Protect {
		s.Protect = append(s.Protect, path.Join(s.Workspace, string(name)))
	}
	return s
}

// wrap returns the arguments that start a program in the sandbox: args with program,
// an absolute path, for the first.
func (s seatbelt) wrap(program string, args []string) ([]string, error) {
	profile, err := s.profile()
	if err != nil {
		return nil, err
	}
	return append([]string{"/usr/bin/sandbox-exec", "-p", profile, "--", program}, args[1:]...), nil
}

// services are those of macOS that programs without windows ask: for users and
// groups, their directories, time zones and the log. A service that starts programs
// or opens files for whoever asks (launchservicesd, pasteboards, cfprefsd) is a way out.
var services = []string{
	"com.apple.bsd.dirhelper",
	"com.apple.system.logger",
	"com.apple.logd",
	"com.apple.system.notification_center",
	"com.apple.system.opendirectoryd.libinfo",
	"com.apple.system.opendirectoryd.membership",
}

// netServices are those that are needed for the network: its settings, names and
// certificates.
var netServices = []string{
	"com.apple.SystemConfiguration.configd",
	"com.apple.SystemConfiguration.DNSConfiguration",
	"com.apple.dnssd.service",
	"com.apple.networkd",
	"com.apple.ocspd",
	"com.apple.SecurityServer",
	"com.apple.trustd",
	"com.apple.trustd.agent",
}

// profile returns the profile for sandbox-exec -p, in the language of sandbox(7)
// that Apple does not document. It fails for a path that cannot be written in it.
//
// What it relies on: nothing is allowed that no rule allows. Of the rules for one
// operation the last that matches decides, and a rule for an operation goes before
// one for a class (file-write*), whatever their order. So paths are allowed and
// denied by class only, and what is said by operation is said of single paths.
func (s seatbelt) profile() (string, error) {
	for _, p := range slices.Concat([]string{s.Workspace, s.Temp, s.Caches}, s.Hide, s.Readable, s.Writable, s.Protect) {
		if err := sayable(p); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	rule := func(words ...string) { fmt.Fprintf(&b, "(%s)\n", strings.Join(words, " ")) }
	rule("version 1")
	rule("deny default")
	rule("allow process-exec process-fork")
	rule("allow process-info* signal (target same-sandbox)")
	rule("allow sysctl-read")
	rule("allow ipc-posix-sem") // Python's multiprocessing
	rule("allow mach-lookup", each("global-name", services))

	rule("allow file-read*")
	rule("allow file-write-data file-ioctl", each("literal", []string{
		"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"}))
	shown, pinned := s.places(rule)
	for _, p := range s.Protect {
		rule("deny file-write*", "(subpath "+quoted(p)+")", "(regex "+quoted(anyCase(p))+")")
	}
	// realpath and getcwd ask for every directory on the way.
	if shown = above(shown); len(shown) > 0 {
		rule("allow file-read-metadata", each("literal", shown))
	}
	// What is hidden or protected goes by its path: moved away with a directory that it
	// is in, it would be neither.
	if pinned = slices.Concat(pinned, above(slices.Concat(pinned, s.Protect))); len(pinned) > 0 {
		slices.Sort(pinned)
		rule("deny file-write-unlink", each("literal", slices.Compact(pinned)))
	}
	if s.FullNet {
		// Sockets by path are not the network: there is one of Docker's, and ssh-agent's.
		rule(`allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder")`)
		rule(`allow network-bind network-inbound (local ip "*:*")`)
		rule("allow system-socket (socket-domain AF_ROUTE)")
		rule("allow mach-lookup", each("global-name", netServices))
	}
	return b.String(), nil
}

// places writes the rules about reading and writing, and returns what is shown, and
// what must stay where it is.
func (s seatbelt) places(rule func(...string)) (shown, pinned []string) {
	type entry struct {
		path string
		rank int // of entries for one path the last decides
	}
	const isWritable, isReadable, isHidden = 0, 1, 2
	var entries []entry
	add := func(rank int, paths ...string) {
		for _, p := range paths {
			if p != "" {
				entries = append(entries, entry{p, rank})
			}
		}
	}
	if s.ReadOnly {
		add(isReadable, s.Workspace)
	} else {
		add(isWritable, s.Workspace)
	}
	add(isWritable, s.Temp, s.Caches)
	add(isWritable, s.Writable...)
	add(isReadable, s.Readable...)
	add(isHidden, s.Hide...)
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.rank, b.rank)) // what contains comes first
	})
	for _, e := range entries {
		in := "(subpath " + quoted(e.path) + ")"
		switch e.rank {
		case isWritable:
			rule("allow file-read* file-write*", in)
		case isReadable:
			rule("allow file-read*", in)
			rule("deny file-write*", in)
		case isHidden:
			rule("deny file-read* file-write*", in)
		}
		if e.rank != isHidden {
			shown = append(shown, e.path)
		}
		pinned = append(pinned, e.path)
	}
	return shown, pinned
}

// above returns the directories that the paths lie in, each once.
func above(paths []string) []string {
	var dirs []string
	for _, p := range paths {
		for p != "/" && p != "." {
			p = path.Dir(p)
			dirs = append(dirs, p)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// each writes one filter of a kind for each value.
func each(kind string, values []string) string {
	filters := make([]string, len(values))
	for i, v := range values {
		filters[i] = "(" + kind + " " + quoted(v) + ")"
	}
	return strings.Join(filters, " ")
}

// sayable reports why a path cannot stand in a profile: its strings are text, and
// how they write other control characters is not known.
func sayable(p string) error {
	if p == "" {
		return nil
	}
	if !path.IsAbs(p) || path.Clean(p) != p {
		return fmt.Errorf("the path %q is not absolute and clean", p)
	}
	bad := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }
	if !utf8.ValidString(p) || strings.ContainsFunc(p, bad) {
		return fmt.Errorf("the path %q has bytes that a profile of sandbox-exec cannot say; rename it", p)
	}
	return nil
}

var inString = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

// quoted writes a string of a profile.
func quoted(s string) string { return `"` + inString.Replace(s) + `"` }

// anyCase returns a regular expression for the path and all below it, with ASCII
// letters of either case.
func anyCase(p string) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, r := range p {
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			fmt.Fprintf(&b, "[%c%c]", r|0x20, r&^0x20)
		case strings.ContainsRune(`\.^$*+?()[]{}|`, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString("(/|$)")
	return b.String()
}
