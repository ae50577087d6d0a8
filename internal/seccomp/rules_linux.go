package seccomp

import (
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A Family is a kind of sockets.
type Family int

// The kinds of sockets that can be granted. There is no way to grant others: raw
// ones, those of other families, and of other protocols, multipath TCP among them,
// which passes Landlock's rules about TCP.
const (
	// Unix is AF_UNIX. Neither the filter nor Landlock judges whom such a socket
	// connects to by a path: grant it only where the sockets of the machine's
	// services are out of sight.
	Unix Family = iota + 1
	// Inet is TCP and UDP over AF_INET and AF_INET6.
	Inet
	// Route is AF_NETLINK with NETLINK_ROUTE, by which programs list addresses and
	// interfaces: getaddrinfo, ip, Node.js.
	Route
)

// Rules say what a filter allows beside ordinary work. The zero Rules grant no
// socket. See the table of calls for what is refused always, with EPERM unless said
// otherwise there.
type Rules struct {
	// Sockets are the kinds of sockets that may be created. If there are none,
	// socket fails with EPERM; else other families fail with EAFNOSUPPORT and other
	// protocols with EPROTONOSUPPORT, as on a kernel without them. Pairs of
	// connected Unix sockets can be created always, of datagram sockets only if
	// Unix is granted: one of these can be connected anew, to any path.
	Sockets []Family
	// SharedMemory allows the segments, queues and semaphores of System V. No path leads
	// to them, so that Landlock does not judge them, and they outlive who made them: grant
	// it where the process has an IPC namespace of its own.
	SharedMemory bool
}

// Isolated returns the rules for a process that has namespaces of its own: of
// mounts, so that it sees no socket of the machine's services, and of the network
// or the full one.
func Isolated() Rules { return Rules{Sockets: []Family{Unix, Inet, Route}, SharedMemory: true} }

// Confined returns the rules for a process that stands in the namespaces of its
// caller. Without the network it gets no sockets, with it all but Unix ones: a
// service of the machine that starts programs for whoever connects to its socket
// (systemd, Docker) is not the network. It gets nothing of System V IPC, which it would
// share with the other programs of its user.
func Confined(fullNet bool) Rules {
	if !fullNet {
		return Rules{}
	}
	return Rules{Sockets: []Family{Inet, Route}}
}

// Program returns the filter for an architecture, as instructions to look at.
// Filter returns it in the form that the kernel takes.
//
// The kernel works out once which calls are allowed whatever their arguments are,
// and does not run the filter for these (since Linux 5.11). It can do so as long as
// what comes before the arguments are loads, comparisons with constants and jumps.
func (r Rules) Program(a Arch) []bpf.Instruction { return compile(a, r.calls()) }

// Filter returns the filter for an architecture, in the form that Load takes.
func (r Rules) Filter(a Arch) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(r.Program(a))
	if err != nil {
		return nil, fmt.Errorf("seccomp: assemble the filter for %s: %w", a, err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return filter, nil
}

// compile makes one program of the rules of single calls.
func compile(a Arch, calls []call) []bpf.Instruction {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return a.number(c) < 0 })
	slices.SortFunc(calls, func(x, y call) int { return cmp.Compare(a.number(x), a.number(y)) })
	segments := []segment{{0, allow}}
	set := func(from uint32, then *node) {
		if last := &segments[len(segments)-1]; last.from == from {
			last.then = then
		} else if last.then != then {
			segments = append(segments, segment{from, then})
		}
	}
	for _, c := range calls {
		nr := uint32(a.number(c))
		set(nr, c.rule)
		set(nr+1, allow)
	}
	if a.x32 {
		// -1 is no call: debuggers skip one by it, and tests ask for it.
		set(0x4000_0000, kill)
		set(0xffff_ffff, allow)
	}
	return program(oneOf(offArch, 0, search(offNumber, segments), kill, a.audit))
}

// socket decides about a new socket: socket(int family, int type, int protocol).
func (r Rules) socket() *node {
	if len(r.Sockets) == 0 {
		return eperm
	}
	n := eafnosupport
	for _, f := range r.Sockets {
		switch f {
		case Unix:
			n = oneOf(low(0), 0, allow, n, unix.AF_UNIX)
		case Inet:
			tcp := oneOf(low(2), 0, allow, eprotonosupport, 0, unix.IPPROTO_TCP)
			udp := oneOf(low(2), 0, allow, eprotonosupport, 0, unix.IPPROTO_UDP)
			kind := oneOf(low(1), sockType, udp, eperm, unix.SOCK_DGRAM)
			kind = oneOf(low(1), sockType, tcp, kind, unix.SOCK_STREAM)
			n = oneOf(low(0), 0, kind, n, unix.AF_INET, unix.AF_INET6)
		case Route:
			n = oneOf(low(0), 0, oneOf(low(2), 0, allow, eprotonosupport, unix.NETLINK_ROUTE), n, unix.AF_NETLINK)
		}
	}
	return n
}

// socketpair decides about two new sockets, connected to each other.
func (r Rules) socketpair() *node {
	kind := allow
	if !slices.Contains(r.Sockets, Unix) {
		kind = oneOf(low(1), sockType, allow, eperm, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
	}
	return oneOf(low(0), 0, kind, eafnosupport, unix.AF_UNIX)
}

// sockType are the bits of the second argument that are the type; others are flags.
const sockType = 0xf
