package egress

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const publicAddr = "93.184.215.14" // of every host, unless a test says otherwise

// A world is a gate and what lies on both sides of it. What the gate dials is noted, and
// led to a server of the test: nothing leaves the machine.
type world struct {
	t       testing.TB
	g       *Gate
	routes  map[uint16]string // by port, where the servers of the test are
	mu      sync.Mutex
	looked  []string
	dialled []string
	refused []string
}

func newWorld(t testing.TB, allow ...string) *world {
	w := &world{t: t, routes: map[uint16]string{}}
	w.g = &Gate{
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			w.note(&w.looked, host)
			return []netip.Addr{netip.MustParseAddr(publicAddr)}, nil
		},
		OnRefused: func(host, reason string) { w.note(&w.refused, host+": "+reason) },
		connect: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			w.note(&w.dialled, to.String())
			route, ok := w.routes[to.Port()]
			if !ok {
				return nil, fmt.Errorf("no route to %s", to)
			}
			return new(net.Dialer).DialContext(ctx, "tcp", route)
		},
		own: func() ([]net.Addr, error) { return nil, nil },
	}
	for _, s := range allow {
		w.g.Allow = append(w.g.Allow, mustPattern(t, s))
	}
	t.Cleanup(func() { w.g.Close() })
	return w
}

func (w *world) note(list *[]string, s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, s)
}

func (w *world) seen(list *[]string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(*list)
}

// want checks what was noted, all of it.
func (w *world) want(what string, list *[]string, want ...string) {
	w.t.Helper()
	if got := w.seen(list); !slices.Equal(got, want) {
		w.t.Errorf("%s: %q\nwant %q", what, got, want)
	}
}

// serve opens a listener of a kind, as the process's side of the sandbox does, and
// returns its port.
func (w *world) serve(kind string) string {
	w.t.Helper()
	var f *os.File
	var at net.Addr
	if kind == DNS {
		pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
		must(w.t, err)
		defer pc.Close()
		at = pc.LocalAddr()
		f, err = pc.(*net.UDPConn).File()
		must(w.t, err)
	} else {
		network := "0.0.0.0:0" // all of 127.0.0.0/8, of which a test uses only that
		if kind == Proxy {
			network = "127.0.0.1:0"
		}
		l, err := net.Listen("tcp4", network)
		must(w.t, err)
		defer l.Close()
		at = l.Addr()
		f, err = l.(*net.TCPListener).File()
		must(w.t, err)
	}
	must(w.t, w.g.Serve(kind, f))
	if _, err := f.Stat(); err == nil {
		w.t.Error("Serve leaves the descriptor open")
	}
	_, port, _ := net.SplitHostPort(at.String())
	return port
}

// upstream is a server on a port of every host.
func (w *world) upstream(port uint16, h http.HandlerFunc) {
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	w.routes[port] = s.Listener.Addr().String()
}

// accept is a server for bytes on a port of every host.
func (w *world) accept(port uint16, handle func(net.Conn)) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(w.t, err)
	w.t.Cleanup(func() { l.Close() })
	w.routes[port] = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); handle(c) }()
		}
	}()
}

// fake returns the address that the DNS gives for a name.
func (w *world) fake(name string) string {
	w.t.Helper()
	rcode, addr := w.ask(name, dnsmessage.TypeA)
	if rcode != dnsmessage.RCodeSuccess || addr == "" {
		w.t.Fatalf("%s: %v", name, rcode)
	}
	return addr
}

func (w *world) ask(name string, typ dnsmessage.Type) (dnsmessage.RCode, string) {
	w.t.Helper()
	must(w.t, w.g.start())
	var m dnsmessage.Message
	must(w.t, m.Unpack(w.g.answer(question(w.t, name, typ))))
	if m.ID != 7 || !m.Response || len(m.Questions) != 1 || m.Questions[0].Name.String() != name || len(m.Authorities)+len(m.Additionals) > 0 {
		w.t.Errorf("answer about %s: %+v", name, m)
	}
	if len(m.Answers) == 0 {
		return m.RCode, ""
	}
	if len(m.Answers) > 1 || m.Answers[0].Header.Name.String() != name {
		w.t.Errorf("answers about %s: %+v", name, m.Answers)
	}
	return m.RCode, netip.AddrFrom4(m.Answers[0].Body.(*dnsmessage.AResource).A).String()
}

func question(t testing.TB, name string, typ dnsmessage.Type) []byte {
	n, err := dnsmessage.NewName(name)
	must(t, err)
	q := dnsmessage.Question{Name: n, Type: typ, Class: dnsmessage.ClassINET}
	b, err := (&dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{q}}).Pack()
	must(t, err)
	return b
}

// dial connects the process to a listener.
func (w *world) dial(addr, port string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp4", net.JoinHostPort(addr, port))
	must(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}

// exchange sends raw bytes and returns the responses that come back.
func (w *world) exchange(addr, port, raw string) []*http.Response {
	w.t.Helper()
	c := w.dial(addr, port)
	_, err := io.WriteString(c, raw)
	must(w.t, err)
	var all []*http.Response
	for r := bufio.NewReader(c); ; {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return all
		}
		body, _ := io.ReadAll(res.Body)
		c.(*net.TCPConn).CloseWrite() // not sooner: net/http takes it for the end of the client
		res.Body = io.NopCloser(strings.NewReader(string(body)))
		all = append(all, res)
	}
}

// connect asks the proxy for a tunnel.
func (w *world) connect(port, target string) (net.Conn, *bufio.Reader, *http.Response) {
	w.t.Helper()
	c := w.dial("127.0.0.1", port)
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	must(w.t, err)
	return c, r, res
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// goroutines returns those that are in this package, without the test's own.
func goroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var ours []string
	for _, s := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(s, "internal/egress.") && !strings.Contains(s, "egress.Test") && !strings.Contains(s, "_test.go") ||
			strings.Contains(s, "net/http.(*persistConn)") || strings.Contains(s, "net/http.(*conn).serve") {
			ours = append(ours, s)
		}
	}
	return strings.Join(ours, "\n\n")
}

// lookupFor answers with a private address for names that say so.
func lookupFor(w *world) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		w.note(&w.looked, host)
		if strings.HasPrefix(host, "private.") {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr(publicAddr)}, nil
	}
}

func statuses(all []*http.Response) (s string) {
	for _, res := range all {
		s += res.Status + "; "
	}
	return s
}

func selfSigned(t testing.TB, name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
