package egress

import "net/netip"

// reserved are the addresses that do not lead to the public network, or lead to a part of
// it that stands close to this machine. IANA's special-purpose registries (RFC 6890 and its
// updates) name them; some of their entries that are reachable (AS112, 192.0.0.9) are small
// services that nobody reaches by the name of a host, and stay out with their block.
var reserved = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT; Alibaba's metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's host agent: a public number that each machine there reaches at its own host
	"169.254.0.0/16",   // link-local; the metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments; Oracle's metadata
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays, deprecated
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast

	"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32", // documentation
	"3fff::/20",     // documentation
)

var (
	global6 = netip.MustParsePrefix("2000::/3") // all that is given out of IPv6
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4  = netip.MustParsePrefix("2002::/16")
)

// public reports whether the address is one of the public network. An IPv6 address that
// carries one of IPv4 is as public as that one.
func public(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	if a = a.Unmap(); a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[12:16])))
		case sixTo4.Contains(a):
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		case !global6.Contains(a): // which no address with a zone is in
			return false
		}
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func prefixes(list ...string) (all []netip.Prefix) {
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}
