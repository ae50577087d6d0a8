package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// maxAddrs is the most addresses of a host that are tried.
const maxAddrs = 16

// allowed refuses what no pattern names.
func (g *Gate) allowed(t target) error {
	for _, p := range g.Allow {
		if p.matches(t) {
			return nil
		}
	}
	return notAllowed(t)
}

// dial connects to t, if that is allowed. It is the only way out of this package.
func (g *Gate) dial(ctx context.Context, t target) (*link, error) {
	if err := g.allowed(t); err != nil {
		return nil, err
	}
	if !g.hold() {
		return nil, net.ErrClosed
	}
	defer g.active.Done()
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	defer context.AfterFunc(g.ctx, cancel)()
	addrs, err := g.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		// Each gets its share of the time that is left, so that one that swallows
		// packets does not use up all of it.
		share := dialTime
		if end, ok := ctx.Deadline(); ok {
			share = time.Until(end) / time.Duration(len(addrs)-i)
		}
		var c net.Conn
		one, cancel := context.WithTimeout(ctx, share)
		c, err = g.connect(one, netip.AddrPortFrom(a, t.port))
		cancel()
		if err == nil {
			return g.link(c, func() {})
		}
	}
	return nil, fmt.Errorf("connect to %s: %w", t.address(), err)
}

// resolve returns the addresses of the host of t that may be dialled, at least one.
func (g *Gate) resolve(ctx context.Context, t target) (addrs []netip.Addr, err error) {
	if a, ok := g.fixed[t.host]; ok {
		return []netip.Addr{a}, nil
	}
	var found []netip.Addr
	if a, err := netip.ParseAddr(t.host); err == nil {
		found = []netip.Addr{a}
	} else if g.Lookup != nil {
		found, err = g.Lookup(ctx, t.host)
		if err != nil {
			return nil, fmt.Errorf("look up %s: %w", t.host, err)
		}
	} else {
		// The dot keeps the resolver from trying the caller's own domains.
		found, err = net.DefaultResolver.LookupNetIP(ctx, "ip", t.host+".")
		if err != nil {
			return nil, fmt.Errorf("look up %s: %w", t.host, err)
		}
	}
	mine, err := g.own()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this machine, which are not to be reached: %w", err)
	}
	var no *refusal
	for _, a := range found {
		switch a = a.Unmap(); {
		case !public(a):
			no = &refusal{t.String(), fmt.Sprintf("its address %s is not public", a), "the sandbox reaches public addresses only, except with the full network"}
		case isOwn(a, mine):
			no = &refusal{t.String(), fmt.Sprintf("its address %s is one of this machine", a), "the sandbox does not reach the machine that it runs on, except with the full network"}
		case len(addrs) < maxAddrs && !slices.Contains(addrs, a):
			addrs = append(addrs, a)
		}
	}
	switch {
	case len(addrs) > 0:
		return addrs, nil
	case no != nil:
		return nil, no
	}
	return nil, fmt.Errorf("look up %s: it has no address", t.host)
}

// isOwn reports whether the address is one of this machine. What listens on it only for
// the machine's own network stack would take us for a neighbour.
func isOwn(a netip.Addr, mine []net.Addr) bool {
	for _, m := range mine {
		if n, ok := m.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == a {
				return true
			}
		}
	}
	return false
}
