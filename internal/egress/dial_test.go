package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A host of the attacker's is public when it is checked and private when it is asked
// again: nobody asks again.
func TestRebinding(t *testing.T) {
	w := newWorld(t, "example.com")
	w.accept(443, func(c net.Conn) { io.WriteString(c, "hello") })
	w.g.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		w.note(&w.looked, "example.com")
		if len(w.seen(&w.looked))%2 == 0 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr(publicAddr)}, nil
	}
	port := w.serve(Proxy)
	if _, _, res := w.connect(port, "example.com:443"); res.StatusCode != 200 {
		t.Errorf("first: %s", res.Status)
	}
	w.want("looked up", &w.looked, "example.com")
	if _, _, res := w.connect(port, "example.com:443"); res.StatusCode != 403 {
		t.Errorf("second: %s", res.Status)
	}
	w.want("dialled", &w.dialled, publicAddr+":443")
	w.want("refused", &w.refused, "example.com: its address 127.0.0.1 is not public")
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name, host, found string // what the look-up answers
		want              string // what is dialled
		refused           bool
	}{
		{"public", "example.com", "8.8.8.8", "8.8.8.8:443", false},
		{"private", "example.com", "10.0.0.1", "", true},
		{"metadata", "example.com", "169.254.169.254", "", true},
		{"mapped private", "example.com", "::ffff:10.0.0.1", "", true},
		{"mapped public, as package net has it", "example.com", "::ffff:8.8.8.8", "8.8.8.8:443", false},
		{"NAT64 of a private one", "example.com", "64:ff9b::a00:1", "", true},
		{"both: the public one only", "example.com", "10.0.0.1 8.8.8.8 ::1", "8.8.8.8:443", false},
		{"this machine's own", "example.com", "11.22.33.44", "", true},
		{"this machine's own, mapped", "example.com", "::ffff:11.22.33.44", "", true},
		{"none", "example.com", "", "", false},
		{"an address is not looked up", "8.8.4.4", "10.0.0.1", "8.8.4.4:443", false},
		{"nor is a fixed one, which may be private", "fixed.example", "8.8.8.8", "127.0.0.1:443", false},
		{"a fixed one has to be allowed", "other.example", "8.8.8.8", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "example.com", "8.8.4.4", "fixed.example")
			w.g.Fixed = map[string]netip.Addr{"Fixed.example.": netip.MustParseAddr("127.0.0.1"), "other.example": netip.MustParseAddr("127.0.0.1")}
			w.g.own = func() ([]net.Addr, error) {
				return []net.Addr{&net.IPNet{IP: net.IPv4(11, 22, 33, 44), Mask: net.CIDRMask(24, 32)}}, nil
			}
			w.g.Lookup = func(context.Context, string) (all []netip.Addr, _ error) {
				for s := range strings.FieldsSeq(c.found) {
					all = append(all, netip.MustParseAddr(s))
				}
				return all, nil
			}
			must(t, w.g.start())
			_, err := w.g.dial(t.Context(), target{c.host, 443})
			if got := w.g.refuse(err); got != c.refused {
				t.Errorf("%v: refused %v, want %v", err, got, c.refused)
			}
			if c.want == "" {
				w.want("dialled", &w.dialled)
			} else {
				w.want("dialled", &w.dialled, c.want)
			}
		})
	}
}

// A name that is not allowed is not looked up: the question itself would carry what the
// process has to tell.
func TestNothingIsAskedOfOthers(t *testing.T) {
	w := newWorld(t, "example.com")
	port := w.serve(Proxy)
	w.connect(port, "secret.evil.example:443")
	w.exchange("127.0.0.1", port, "GET http://secret.evil.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	w.ask("secret.evil.example.", 1)
	w.ask("example.com.", 1)
	w.want("looked up", &w.looked)
	if got := len(w.seen(&w.refused)); got != 3 {
		t.Errorf("%d refusals were told, want 3", got)
	}
}

func TestOwnAddressesUnknown(t *testing.T) {
	w := newWorld(t, "example.com")
	w.g.own = func() ([]net.Addr, error) { return nil, errors.New("no netlink") }
	must(t, w.g.start())
	if _, err := w.g.dial(t.Context(), target{"example.com", 443}); err == nil || !strings.Contains(err.Error(), "no netlink") {
		t.Errorf("%v", err)
	}
	w.want("dialled", &w.dialled)
}

// The addresses of a host share the time of one connection, and a host that has very many
// is not tried for ever.
func TestDialTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "example.com")
		w.g.Lookup = func(context.Context, string) (all []netip.Addr, _ error) {
			for i := range 100 {
				all = append(all, netip.AddrFrom4([4]byte{8, 8, 8, byte(i)}))
			}
			return all, nil
		}
		w.g.connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			w.note(&w.dialled, to.String())
			<-ctx.Done()
			return nil, ctx.Err()
		}
		must(t, w.g.start())
		began := time.Now()
		_, err := w.g.dial(t.Context(), target{"example.com", 443})
		if took := time.Since(began); err == nil || took != dialTime {
			t.Errorf("%v after %v, want %v", err, took, dialTime)
		}
		if n := len(w.seen(&w.dialled)); n != maxAddrs {
			t.Errorf("%d addresses tried, want %d", n, maxAddrs)
		}
		// One that does not answer leaves time for the next one.
		w.g.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("8.8.4.4")}, nil
		}
		hang := w.g.connect
		w.g.connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			if to.Addr().String() == "8.8.4.4" && ctx.Err() == nil {
				c, _ := net.Pipe()
				return c, nil
			}
			return hang(ctx, to)
		}
		began = time.Now()
		c, err := w.g.dial(t.Context(), target{"example.com", 443})
		if took := time.Since(began); err != nil || took != dialTime/2 {
			t.Errorf("the second address: %v after %v", err, took)
		} else {
			c.Close()
		}
		w.g.Lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began = time.Now()
		_, err = w.g.dial(t.Context(), target{"example.com", 443})
		if took := time.Since(began); err == nil || took != dialTime {
			t.Errorf("a look-up: %v after %v, want %v", err, took, dialTime)
		}
	})
}

// The hosts that a process may not reach are refused with words for a person.
func TestRefusalText(t *testing.T) {
	w := newWorld(t, "example.com", "inside.example")
	w.g.Fixed = map[string]netip.Addr{}
	w.g.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("192.168.1.1")}, nil
	}
	port := w.serve(Proxy)
	for _, c := range []struct{ url, body, told string }{
		{"http://evil.example/x", "evil.example: no pattern allows it\nto allow it: --allow-host evil.example, or \"evil.example\" in the list egress.allow under sandbox in callgate.yaml\n",
			"evil.example: no pattern allows it"},
		{"http://evil.example:8080/x", "--allow-host evil.example:8080,", "evil.example:8080: no pattern allows it"},
		{"http://inside.example/", "inside.example: its address 192.168.1.1 is not public\n", "inside.example: its address 192.168.1.1 is not public"},
		{"http://127.1/", "\"127.1\": it is no host: write an IPv4 address as four decimal numbers", ""},
		{"http://example.com:99999/", "it is no host: \"99999\" is no port", ""},
	} {
		res := w.exchange("127.0.0.1", port, "GET "+c.url+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if len(res) != 1 || res[0].StatusCode != http.StatusForbidden || res[0].Header.Get("X-Callgate-Error") != "egress_denied" {
			t.Errorf("%s: %v", c.url, res)
			continue
		}
		body, _ := io.ReadAll(res[0].Body)
		if !strings.HasPrefix(string(body), "callgate: egress denied: ") || !strings.Contains(string(body), c.body) {
			t.Errorf("%s: %s", c.url, body)
		}
		if got := w.seen(&w.refused); c.told != "" && got[len(got)-1] != c.told {
			t.Errorf("%s: told %q, want %q", c.url, got[len(got)-1], c.told)
		}
	}
	if n := len(w.seen(&w.refused)); n != 5 {
		t.Errorf("%d refusals were told, want 5", n)
	}
	w.want("dialled", &w.dialled)
}
