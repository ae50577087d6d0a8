package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// A Pattern says which hosts and ports are allowed. The zero Pattern is none.
type Pattern struct {
	host string // canonical
	sub  bool   // what lies below host, and not host itself
	port uint16 // 0: 80 and 443
}

// ParsePattern reads a pattern:
//
//	example.com        ports 80 and 443 of this host
//	*.example.com      of every host below example.com, at any depth, not of itself
//	example.com:8443   this port only
//	8.8.8.8, [2001:4860:4860::8888]:443   an address
//
// Case and a last dot do not matter. An address must be public and spelled as Go's
// netip does, and it allows itself only: not the names that resolve to it. The error
// says what is wrong and, where that can be known, what to write.
func ParsePattern(s string) (Pattern, error) {
	p, err := parsePattern(s)
	if err != nil {
		return Pattern{}, fmt.Errorf("%s is no host to allow: %w", quote(s), err)
	}
	return p, nil
}

func parsePattern(s string) (p Pattern, err error) {
	if s == "*" {
		return p, fmt.Errorf("to open every host, give the sandbox the full network; otherwise write example.com, *.example.com or example.com:8443")
	}
	if strings.ContainsAny(s, "/@?#\\") {
		hint := "example.com"
		u, err := url.Parse(s)
		if err == nil && u.Host == "" {
			u, err = url.Parse("//" + s)
		}
		if err == nil {
			if q, err := parsePattern(u.Host); err == nil {
				hint = q.String()
			}
		}
		return p, fmt.Errorf("write the host only, without scheme, user or path: %s", hint)
	}
	host, port, err := splitPort(s)
	if err != nil {
		return p, err
	}
	p.port = port
	if below, ok := strings.CutPrefix(host, "*."); ok {
		p.sub, host = true, below
	}
	if strings.Contains(host, "*") {
		return p, fmt.Errorf("a * stands for whole names at the front only: *.example.com")
	}
	if p.host, err = canonical(host); err != nil {
		return p, err
	}
	if addr, err := netip.ParseAddr(p.host); err == nil {
		switch {
		case p.sub:
			return p, fmt.Errorf("nothing lies below an address; write %s", p.host)
		case p.host != strings.ToLower(host):
			return p, fmt.Errorf("write the address as %s", p.host)
		case !public(addr):
			return p, fmt.Errorf("the address is not public, and the sandbox reaches public ones only")
		}
	}
	return p, nil
}

// String returns the pattern as ParsePattern reads it.
func (p Pattern) String() string {
	s := p.host
	if p.sub {
		s = "*." + s
	}
	if p.port == 0 {
		return s
	}
	return target{s, p.port}.address()
}

// matches reports whether the pattern allows t.
func (p Pattern) matches(t target) bool {
	if p.port == 0 {
		return p.covers(t.host) && (t.port == 80 || t.port == 443)
	}
	return p.covers(t.host) && t.port == p.port
}

// covers reports whether the pattern allows a port of the host.
func (p Pattern) covers(host string) bool {
	if p.host == "" {
		return false
	}
	if !p.sub {
		return host == p.host
	}
	below, ok := strings.CutSuffix(host, p.host)
	return ok && len(below) > 1 && strings.HasSuffix(below, ".")
}
