package egress

import (
	"net/netip"
	"strings"
	"testing"
)

func mustPattern(t testing.TB, s string) Pattern {
	t.Helper()
	p, err := ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPatternMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, target string
		want            bool
	}{
		{"example.com", "example.com:443", true},
		{"example.com", "example.com:80", true},
		{"example.com", "example.com:8080", false},
		{"example.com", "EXAMPLE.com.:443", true},
		{"Example.COM.", "example.com:443", true},
		{"example.com", "www.example.com:443", false},
		{"example.com", "notexample.com:443", false},
		{"example.com", "example.com.evil.org:443", false},
		{"*.example.com", "www.example.com:443", true},
		{"*.example.com", "a.b.example.com:443", true},
		{"*.example.com", "example.com:443", false},
		{"*.example.com", "notexample.com:443", false},
		{"*.example.com:8443", "www.example.com:8443", true},
		{"*.example.com:8443", "www.example.com:443", false},
		{"example.com:8443", "example.com:8443", true},
		{"example.com:8443", "example.com:443", false},
		{"example.com:80", "example.com:443", false},
		{"xn--bcher-kva.example", "xn--bcher-kva.example:443", true},
		{"my_bucket.s3.example.com", "my_bucket.s3.example.com:443", true},
		{"8.8.8.8", "8.8.8.8:443", true},
		{"8.8.8.8", "8.8.4.4:443", false},
		{"2001:4860:4860::8888", "[2001:4860:4860::8888]:443", true},
		{"2001:4860:4860::8888", "[2001:4860:4860:0::8888]:443", true}, // the same address, spelled by the process
		{"[2001:4860:4860::8888]:853", "[2001:4860:4860::8888]:853", true},
		{"[2001:4860:4860::8888]:853", "[2001:4860:4860::8888]:443", false},
	} {
		target, err := parseTarget(c.target, 0)
		if err != nil {
			t.Fatalf("%s: %v", c.target, err)
		}
		if got := mustPattern(t, c.pattern).matches(target); got != c.want {
			t.Errorf("%s allows %s: %v, want %v", c.pattern, c.target, got, c.want)
		}
		if (Pattern{}).matches(target) {
			t.Errorf("the zero pattern allows %s", c.target)
		}
	}
	if (Pattern{}).matches(target{port: 443}) {
		t.Error("the zero pattern allows the zero target")
	}
}

// What a process writes as a target is a host and a port, or nothing.
func TestParseTarget(t *testing.T) {
	for _, c := range []struct {
		s    string
		port uint16 // if s has none
		want string
	}{
		{"example.com:443", 0, "example.com:443"},
		{"Example.com.", 80, "example.com:80"},
		{"8.8.8.8:53", 80, "8.8.8.8:53"},
		{"[2001:4860:4860:0::8888]", 80, "[2001:4860:4860::8888]:80"},
		{"[::1]:443", 0, "[::1]:443"},
		{"example.com", 0, ""},
		{"::1", 80, ""},
		{"2001:4860:4860::8888", 80, ""},
		{"[fe80::1%25eth0]:443", 80, ""},
		{"[::ffff:8.8.8.8]:443", 80, ""},
		{"", 80, ""},
		{":443", 80, ""},
		{"example.com:", 80, ""},
	} {
		got, err := parseTarget(c.s, c.port)
		if err != nil && c.want != "" || err == nil && got.address() != c.want {
			t.Errorf("%q: %s, %v, want %q", c.s, got.address(), err, c.want)
		}
	}
}

// Each error says what to write, where that is known.
func TestParsePatternRefuses(t *testing.T) {
	for _, c := range []struct{ pattern, says string }{
		{"", "empty"},
		{"*", "full network"},
		{"https://example.com/x", "path: example.com"},
		{"https://example.com:8443", "path: example.com:8443"},
		{"example.com/path", "path: example.com"},
		{"user:secret@example.com", "path: example.com"},
		{"a*.example.com", "*.example.com"},
		{"www.*.com", "*.example.com"},
		{"*.*.example.com", "*.example.com"},
		{"*example.com", "*.example.com"},
		{"*.", "empty"},
		{"*.8.8.8.8", "write 8.8.8.8"},
		{"example.com:", `"" is no port`},
		{"example.com:0", `"0" is no port`},
		{"example.com:65536", `"65536" is no port`},
		{"example.com:0443", `"0443" is no port`},
		{"example.com:+443", `"+443" is no port`},
		{"example.com:https", `"https" is no port`},
		{"exa mple.com", "not ' '"},
		{"example.com\x00", `not '\x00'`},
		{"fe80::1%eth0", "zone"},
		{"a%2eb", "not '%'"},
		{"a..b", "between two of its dots"},
		{".example.com", "between two of its dots"},
		{"example.com..", "between two of its dots"},
		{"-a.example.com", "begins or ends with -"},
		{"bücher.example", "xn--"},
		{"127.1", "four decimal numbers"},
		{"0x7f.1", "four decimal numbers"},
		{"127.0.0.0x1", "four decimal numbers"},
		{"2130706433", "four decimal numbers"},
		{"0177.0.0.1", "four decimal numbers"},
		{"8.8.8.8.", "four decimal numbers"},
		{"127.0.0.1", "not public"},
		{"10.0.0.1:443", "not public"},
		{"[::1]:443", "not public"},
		{"::ffff:8.8.8.8", "write the address as 8.8.8.8"},
		{"2001:4860:4860:0:0:0:0:8888", "write the address as 2001:4860:4860::8888"},
		{"[example.com]:443", "IPv6"},
		{"[2001:4860:4860::8888", "IPv6"},
		{"[2001:4860:4860::8888]443", "colon and the port"},
		{strings.Repeat("a", 64) + ".example", "63 bytes"},
		{strings.Repeat("a.", 130) + "example", "253 bytes"},
	} {
		p, err := ParsePattern(c.pattern)
		if err == nil {
			t.Errorf("%q is taken as %s", c.pattern, p)
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v\nwant it to say %q", c.pattern, err, c.says)
		}
	}
}

func TestPublic(t *testing.T) {
	for _, s := range strings.Fields(`8.8.8.8 1.1.1.1 11.0.0.0 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 192.0.1.1
		169.253.255.255 198.17.0.1 198.20.0.1 223.255.255.255 168.63.129.17
		2606:4700::1111 2001:200::1 2a00::1 64:ff9b::8.8.8.8 2002:808:808::1 ::ffff:8.8.8.8`) {
		if !public(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	for _, s := range strings.Fields(`0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.1.0.1
		168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1
		198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
		:: ::1 ::8.8.8.8 ::ffff:10.0.0.1 ::ffff:127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::127.0.0.1 64:ff9b:1::8.8.8.8
		100::1 2001::1 2001:0:808:808::1 2001:2::1 2001:20::1 2001:db8::1 2002:a00:1::1 2002:7f00:1::1 3fff::1
		5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%lo 2606:4700::1111%lo fec0::1 ff02::1 4000::1`) {
		if public(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// What is taken has one spelling, allows what it names, and nothing that is spelled
// in a way that a resolver could read otherwise.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com", "example.com:8443", "8.8.8.8", "[2606:4700::1111]:443", "2606:4700::1111",
		"127.1", "0x7f.1", "::ffff:1.1.1.1", "https://a/b", "u@h", "*.*", "a:b:c", "[", "]:1", "xn--a", "a.", "1.1.1.1.", "A_b-c.D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			if p != (Pattern{}) {
				t.Fatalf("%q: an error and a pattern", s)
			}
			return
		}
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Fatalf("%q is %s, which reads as %+v, %v", s, p, again, err)
		}
		host := p.host
		if p.sub {
			if p.covers(host) {
				t.Fatalf("%s covers %s itself", p, host)
			}
			host = "www." + host
		}
		tt, err := newTarget(host, max(p.port, 80))
		if err != nil && len(host) <= 253 {
			t.Fatalf("%q names %q: %v", s, host, err)
		}
		if err != nil {
			return
		}
		if p.port > 0 {
			tt.port = p.port
		}
		if !p.matches(tt) {
			t.Fatalf("%s does not allow %s", p, tt.address())
		}
		if a, err := netip.ParseAddr(host); err == nil && !public(a) {
			t.Fatalf("%q allows %s", s, a)
		}
		if strings.Trim(host, "0123456789abcdefghijklmnopqrstuvwxyz-_.:") != "" {
			t.Fatalf("%q names %q", s, host)
		}
		if got, err := parseTarget(tt.address(), 0); err != nil || got != tt {
			t.Fatalf("%s reads as %v, %v", tt.address(), got, err)
		}
	})
}
