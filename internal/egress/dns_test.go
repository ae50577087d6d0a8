package egress

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestDNS(t *testing.T) {
	w := newWorld(t, "example.com", "*.example.org", "ports.example:8443", "8.8.8.8")
	for _, c := range []struct {
		name string
		typ  dnsmessage.Type
		code dnsmessage.RCode
		addr string
	}{
		{"example.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "127.1.0.1"},
		{"EXAMPLE.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "127.1.0.1"},
		{"www.example.org.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "127.1.0.2"},
		{"ports.example.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "127.1.0.3"},
		{"example.com.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, ""},
		{"example.com.", dnsmessage.TypeTXT, dnsmessage.RCodeSuccess, ""},
		{"example.com.", 65, dnsmessage.RCodeSuccess, ""}, // HTTPS, which would carry keys of ECH
		{"example.com.", dnsmessage.TypeALL, dnsmessage.RCodeSuccess, ""},
		{"example.org.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"evil.example.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"evil.example.", dnsmessage.TypeAAAA, dnsmessage.RCodeNameError, ""},
		{"c2VjcmV0.evil.example.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, ""},
		{"8.8.8.8.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"example.com\x00.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"1.0.1.127.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, ""},
		{".", dnsmessage.TypeNS, dnsmessage.RCodeRefused, ""},
	} {
		if code, addr := w.ask(c.name, c.typ); code != c.code || addr != c.addr {
			t.Errorf("%s %s: %s %s, want %s %s", c.name, c.typ, code, addr, c.code, c.addr)
		}
	}
	// Once each, and not of what looks at an address backwards.
	w.want("refused", &w.refused, "example.org: no pattern allows it", "evil.example: no pattern allows it", "c2vjcmv0.evil.example: no pattern allows it",
		`"8.8.8.8.": it is no host: write an IPv4 address as four decimal numbers without leading zeros: 192.0.2.1`,
		`"example.com\x00.": it is no host: a name has letters, digits, - and . only, not '\x00'`)
}

// Messages that are no plain question.
func TestDNSOdd(t *testing.T) {
	w := newWorld(t, "example.com")
	must(t, w.g.start())
	q := question(t, "example.com.", dnsmessage.TypeA)
	change := func(f func(b []byte) []byte) []byte { return f(slices.Clone(q)) }
	for _, c := range []struct {
		name  string
		query []byte
		want  string
	}{
		{"nothing", nil, "none"},
		{"short", q[:11], "none"},
		{"an answer", change(func(b []byte) []byte { b[2] |= 0x80; return b }), "none"},
		{"another operation", change(func(b []byte) []byte { b[2] |= 5 << 3; return b }), "RCodeNotImplemented"},
		{"no question", q[:12], "RCodeFormatError"},
		{"no question by count", change(func(b []byte) []byte { b[5] = 0; return b }), "RCodeFormatError"},
		{"two questions", change(func(b []byte) []byte { b[5] = 2; return append(b, q[12:]...) }), "RCodeFormatError"},
		{"two by count", change(func(b []byte) []byte { b[5] = 2; return b }), "RCodeFormatError"},
		{"half a question", q[:20], "RCodeFormatError"},
		{"a name that points to itself", change(func(b []byte) []byte { return append(b[:12], 0xc0, 12, 0, 1, 0, 1) }), "RCodeFormatError"},
		{"another class", change(func(b []byte) []byte { b[len(b)-1] = 3; return b }), "RCodeRefused"},
		{"EDNS", change(func(b []byte) []byte { b[11] = 1; return append(b, 0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0) }), "RCodeSuccess"},
	} {
		a := w.g.answer(c.query)
		got := "none"
		if a != nil {
			var m dnsmessage.Message
			must(t, m.Unpack(a))
			if got = m.RCode.GoString(); got != "dnsmessage."+c.want || m.ID != 7 || !m.Response {
				t.Errorf("%s: %+v, want %s", c.name, m.Header, c.want)
			}
		} else if c.want != "none" {
			t.Errorf("%s: no answer, want %s", c.name, c.want)
		}
	}
}

func TestManyNames(t *testing.T) {
	w := newWorld(t, "*.example.com")
	addrs := map[string]bool{}
	for i := range maxNames {
		addrs[w.fake(fmt.Sprintf("n%d.example.com.", i))] = true
	}
	if len(addrs) != maxNames {
		t.Errorf("%d addresses of %d names", len(addrs), maxNames)
	}
	if code, addr := w.ask("more.example.com.", dnsmessage.TypeA); code != dnsmessage.RCodeServerFailure || addr != "" {
		t.Errorf("one more: %v %s", code, addr)
	}
	if addr := w.fake("n7.example.com."); addr != "127.1.0.8" {
		t.Errorf("an old one: %s", addr)
	}
	w.want("refused", &w.refused, "more.example.com: the sandbox has looked up too many names")
	for i := range 3 * maxNames {
		w.ask(fmt.Sprintf("n%d.evil.example.", i), dnsmessage.TypeA)
	}
	if n := len(w.g.names.told); n > maxNames {
		t.Errorf("%d refused names are kept", n)
	}
}

// Over the wire: package net's resolver, by UDP and by TCP.
func TestResolver(t *testing.T) {
	w := newWorld(t, "example.com")
	udp := w.serve(DNS)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	f, err := l.(*net.TCPListener).File()
	must(t, err)
	l.Close()
	must(t, w.g.Serve(DNS, f))
	for network, addr := range map[string]string{"udp": "127.0.0.1:" + udp, "tcp": l.Addr().String()} {
		c, err := net.Dial(network, addr)
		must(t, err)
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		for range 2 {
			q, buf := question(t, "example.com.", dnsmessage.TypeA), make([]byte, 512)
			if network == "tcp" {
				q = append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)
			} else {
				io.WriteString(c, "noise") // has no answer
			}
			_, err = c.Write(q)
			must(t, err)
			n, err := c.Read(buf)
			must(t, err)
			if buf = buf[:n]; network == "tcp" {
				if int(binary.BigEndian.Uint16(buf)) != n-2 {
					t.Errorf("%d bytes, said to be %d", n-2, binary.BigEndian.Uint16(buf))
				}
				buf = buf[2:]
			}
			var m dnsmessage.Message
			if err := m.Unpack(buf); err != nil || len(m.Answers) != 1 {
				t.Errorf("%s: %+v, %v", network, m, err)
			}
		}
	}
}

// The answer to any bytes is none, or a well-formed message with their ID, of which each
// address means a name that a pattern allows.
func FuzzDNS(f *testing.F) {
	for _, n := range []string{"example.com.", "www.example.com.", "evil.example.", ".", "EXAMPLE.com.", "a\x00b."} {
		f.Add(question(f, n, dnsmessage.TypeA))
		f.Add(question(f, n, dnsmessage.TypeAAAA))
	}
	f.Add([]byte("\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01"))
	w := newWorld(f, "example.com", "*.example.com")
	must(f, w.g.start())
	f.Fuzz(func(t *testing.T, query []byte) {
		a := w.g.answer(query)
		if a == nil {
			return
		}
		if len(a) > 512 {
			t.Fatalf("%d bytes", len(a))
		}
		var m dnsmessage.Message
		if err := m.Unpack(a); err != nil {
			t.Fatalf("%q: %v", a, err)
		}
		if m.ID != binary.BigEndian.Uint16(query) || !m.Response || len(m.Answers) > 1 {
			t.Fatalf("%+v", m)
		}
		for _, r := range m.Answers {
			addr := netip.AddrFrom4(r.Body.(*dnsmessage.AResource).A)
			host, ok := w.g.names.host(addr)
			asked := strings.ToLower(strings.TrimSuffix(m.Questions[0].Name.String(), "."))
			if !ok || host != asked || host != "example.com" && !strings.HasSuffix(host, ".example.com") ||
				!netip.MustParsePrefix("127.1.0.0/16").Contains(addr) {
				t.Fatalf("%q is %s, which means %q", asked, addr, host)
			}
		}
		if len(w.seen(&w.looked)) > 0 {
			t.Fatal("somebody is asked")
		}
	})
}
