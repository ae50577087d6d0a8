package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A target is a host and a port. Only newTarget and parseTarget make one.
type target struct {
	host string // as canonical writes it
	port uint16
}

// String writes the target as one does for a reader: without the ports that need no
// mention.
func (t target) String() string {
	if t.port == 80 || t.port == 443 {
		return t.host
	}
	return t.address()
}

// address writes the target as host:port.
func (t target) address() string {
	if strings.Contains(t.host, ":") {
		return fmt.Sprintf("[%s]:%d", t.host, t.port)
	}
	return fmt.Sprintf("%s:%d", t.host, t.port)
}

func newTarget(host string, port uint16) (target, error) {
	h, err := canonical(host)
	return target{h, port}, err
}

// parseTarget reads "host" or "host:port", IPv6 in brackets. Without a port it is
// otherwise; 0 means that there has to be one.
func parseTarget(s string, otherwise uint16) (target, error) {
	host, port, err := splitPort(s)
	if err != nil {
		return target{}, err
	}
	if port == 0 {
		if port = otherwise; port == 0 {
			return target{}, errors.New("it has no port")
		}
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(s, "[") {
		return target{}, errors.New("an IPv6 address stands in brackets: [2001:db8::1]:443")
	}
	return newTarget(host, port)
}

// splitPort takes the port, 0 if there is none, and the brackets from s.
func splitPort(s string) (host string, port uint16, err error) {
	host, digits := s, ""
	switch {
	case strings.HasPrefix(s, "["):
		inner, rest, ok := strings.Cut(s[1:], "]")
		if !ok || !strings.Contains(inner, ":") {
			return "", 0, errors.New("brackets are for an IPv6 address: [2001:db8::1]:443")
		}
		if rest == "" {
			return inner, 0, nil
		}
		if host, digits = inner, rest[1:]; rest[0] != ':' {
			return "", 0, errors.New("after the brackets comes a colon and the port")
		}
	case strings.Count(s, ":") == 1:
		host, digits, _ = strings.Cut(s, ":")
	default:
		return s, 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits[0] == '0' {
		return "", 0, fmt.Errorf("%q is no port; use a number from 1 to 65535", digits)
	}
	return host, uint16(n), nil
}

// canonical returns the one spelling of a host: lower case without the last dot, or an
// IP address as netip writes it. Names are compared as they are sent to the DNS: xn--
// labels are not decoded, so nothing that only looks alike is alike. What a resolver
// might read as an address (127.1, 0x7f.0.0.1, 2130706433: see inet_aton(3)) is no name.
func canonical(s string) (string, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		switch {
		case addr.Zone() != "":
			return "", errors.New("an address with a zone is of this link only, and not public")
		case addr.Is4In6():
			return "", fmt.Errorf("write the address as %s", addr.Unmap())
		}
		return addr.String(), nil
	}
	name := strings.TrimSuffix(s, ".")
	switch {
	case name == "":
		return "", errors.New("it is empty")
	case len(name) > 253: // RFC 1035 §2.3.4, less what the wire adds
		return "", errors.New("it is longer than the 253 bytes that a name may have")
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 0x80:
			return "", errors.New("write a name that is not ASCII in its xn-- form")
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.':
		default:
			return "", fmt.Errorf("a name has letters, digits, - and . only, not %q", c)
		}
	}
	name = strings.ToLower(name)
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "", errors.New("there is nothing between two of its dots")
		case len(label) > 63:
			return "", errors.New("a part of it is longer than 63 bytes")
		case label[0] == '-' || label[len(label)-1] == '-':
			return "", errors.New("a part of it begins or ends with -")
		}
		last = label
	}
	if numeric(last) {
		return "", errors.New("write an IPv4 address as four decimal numbers without leading zeros: 192.0.2.1")
	}
	return name, nil
}

// numeric reports whether a name that ends in this label may be read as an IPv4 address;
// no top-level domain is such (WHATWG URL, "ends in a number").
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// quote makes what a stranger wrote fit for a line.
func quote(s string) string {
	if len(s) > 100 {
		return strconv.Quote(s[:100]) + "..."
	}
	return strconv.Quote(s)
}
