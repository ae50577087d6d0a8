package egress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// ttl of an answer in seconds. The address of a name stays as it is until Close.
const ttl = 60

// names are the addresses that stand for hosts.
type names struct {
	mu    sync.Mutex
	addrs map[string]netip.Addr
	hosts map[netip.Addr]string
	told  map[string]bool // refused, and told of it
}

// addr returns the address that means the host, false if there are too many.
func (n *names) addr(host string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.addrs[host]; ok {
		return a, true
	}
	if len(n.addrs) == maxNames {
		return netip.Addr{}, false
	}
	if n.addrs == nil {
		n.addrs, n.hosts = map[string]netip.Addr{}, map[netip.Addr]string{}
	}
	i := len(n.addrs) + 1
	a := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
	n.addrs[host], n.hosts[a] = a, host
	return a, true
}

// host returns the host that the address means.
func (n *names) host(a netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	host, ok := n.hosts[a]
	return host, ok
}

// first reports whether the name is refused for the first time: a resolver asks for the
// addresses of IPv4 and IPv6, and again. What is remembered is bounded.
func (n *names) first(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told[name] {
		return false
	}
	if n.told == nil || len(n.told) == maxNames {
		n.told = map[string]bool{}
	}
	n.told[name] = true
	return true
}

// answer returns the answer to a DNS message, nil for what deserves none.
func (g *Gate) answer(query []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(query)
	if err != nil || h.Response {
		return nil // an answer to an answer would be the start of a loop
	}
	reply := dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	if h.OpCode != 0 {
		reply.RCode = dnsmessage.RCodeNotImplemented
		return build(reply, nil, netip.Addr{})
	}
	q, err := p.Question()
	if err == nil {
		if _, more := p.Question(); !errors.Is(more, dnsmessage.ErrSectionDone) {
			err = errors.New("more than one question")
		}
	}
	if err != nil {
		reply.RCode = dnsmessage.RCodeFormatError
		return build(reply, nil, netip.Addr{})
	}
	var a netip.Addr
	reply.RCode, a = g.find(q)
	return build(reply, &q, a)
}

// find decides on a question. A name that a pattern allows, on whichever port, has one
// address of IPv4, and nothing of any other type: not even HTTPS records, which would
// tell of ports and keys that are not ours. Other names do not exist.
func (g *Gate) find(q dnsmessage.Question) (dnsmessage.RCode, netip.Addr) {
	if q.Class != dnsmessage.ClassINET || q.Name.Length <= 1 {
		return dnsmessage.RCodeRefused, netip.Addr{}
	}
	name, err := canonical(q.Name.String())
	if err != nil {
		if r := malformed(q.Name.String(), err); g.names.first(r.host) {
			g.refuse(r)
		}
		return dnsmessage.RCodeNameError, netip.Addr{}
	}
	for _, p := range g.Allow {
		if !p.covers(name) {
			continue
		}
		if q.Type != dnsmessage.TypeA {
			return dnsmessage.RCodeSuccess, netip.Addr{}
		}
		a, ok := g.names.addr(name)
		if !ok {
			g.refuse(&refusal{name, "the sandbox has looked up too many names", ""})
			return dnsmessage.RCodeServerFailure, a
		}
		return dnsmessage.RCodeSuccess, a
	}
	// Programs look up the names of addresses that they see, which is no wish to reach one.
	if !strings.HasSuffix(name, ".arpa") && g.names.first(name) {
		g.refuse(notAllowed(target{name, 443}))
	}
	return dnsmessage.RCodeNameError, netip.Addr{}
}

// build writes an answer: the question, as it was asked, and an address if there is one.
func build(h dnsmessage.Header, q *dnsmessage.Question, a netip.Addr) []byte {
	b := dnsmessage.NewBuilder(nil, h)
	b.EnableCompression()
	err := b.StartQuestions()
	if err == nil && q != nil {
		err = b.Question(*q)
	}
	if err == nil && a.IsValid() {
		if err = b.StartAnswers(); err == nil {
			err = b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: ttl}, dnsmessage.AResource{A: a.As4()})
		}
	}
	out, ferr := b.Finish()
	if err != nil || ferr != nil {
		return nil
	}
	return out
}

// serveDNS answers until pc is closed.
func (g *Gate) serveDNS(pc net.PacketConn) {
	buf := make([]byte, 4096) // more than any question; what is cut off does not parse
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			if g.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			// An error of an earlier answer: its asker is gone.
			select {
			case <-time.After(10 * time.Millisecond):
			case <-g.ctx.Done():
			}
			continue
		}
		if a := g.answer(buf[:n]); a != nil {
			pc.WriteTo(a, from)
		}
	}
}

// serveDNSStream answers messages with their length before them (RFC 7766).
func (g *Gate) serveDNSStream(l *link) {
	for {
		l.SetDeadline(time.Now().Add(handshakeTime))
		var n [2]byte
		if _, err := io.ReadFull(l, n[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(n[:]))
		if _, err := io.ReadFull(l, q); err != nil {
			return
		}
		a := g.answer(q)
		if a == nil {
			return
		}
		if _, err := l.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
			return
		}
	}
}
