package egress

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

// The kinds of listeners.
const (
	Proxy = "proxy" // HTTP proxy: CONNECT, and requests for http:// URLs
	HTTP  = "http"  // plain HTTP to the addresses that DNS gave
	HTTPS = "https" // TLS to these
	DNS   = "dns"   // a name server, over UDP or TCP
)

// A Listener is what has to listen in the namespace of the process.
type Listener struct {
	Kind    string // for Serve
	Network string // as of net.Listen or net.ListenPacket
	Addr    string
}

// Listeners are all that a process needs: HTTP_PROXY and HTTPS_PROXY are then
// http://127.0.0.1:3128, and its only name server is 127.0.0.1. The addresses that DNS
// gives out are all on the loopback interface, of which 127.0.0.0/8 is a part.
var Listeners = []Listener{
	{Proxy, "tcp4", "127.0.0.1:3128"},
	{HTTP, "tcp4", "0.0.0.0:80"},
	{HTTPS, "tcp4", "0.0.0.0:443"},
	{DNS, "udp4", "127.0.0.1:53"},
	{DNS, "tcp4", "127.0.0.1:53"},
}

// Bounds of a Gate.
const (
	maxConns  = 256 // connections of the process at once; more wait
	maxNames  = 4096
	maxHeader = 64 << 10 // bytes of a header of HTTP, and of a ClientHello

	handshakeTime = 10 * time.Second // for a header or a ClientHello to be complete
	dialTime      = 20 * time.Second // for a look-up and all attempts to connect
	idleTime      = time.Minute      // for the next request on a connection
	lingerTime    = 5 * time.Minute  // without a byte, once one side has ended
)

// A Gate lets one process reach the hosts that it is allowed. The zero Gate allows none.
// The fields must not change after the first Serve.
//
// At most 256 connections are served at once; more wait to be accepted. A header of HTTP
// and a ClientHello may have 64 KiB and take 10 s, a look-up with the connection after it
// 20 s. At most 4096 names are given an address by the DNS; for more it fails. A
// connection of which one side has ended is closed after 5 minutes without a byte.
//
// What is refused over HTTP is answered with status 403, the field X-Callgate-Error:
// egress_denied, and a text that names the host and what would allow it; over TLS with
// the alert access_denied. What cannot be reached is answered with 502.
type Gate struct {
	// Allow are the hosts that may be reached.
	Allow []Pattern
	// Lookup returns the addresses of a host; nil asks net.DefaultResolver, without its
	// search list. It is called once for a connection, from any goroutine.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Fixed has addresses of hosts that are not looked up, and may be private. The hosts
	// have to be allowed nevertheless. It is for tests.
	Fixed map[string]netip.Addr
	// OnRefused, if set, is told of each host that was refused: the host as the process
	// named it, quoted if it is no host, perhaps with a port, and why. A name that the
	// DNS refuses is told once. It is called from any goroutine and must not block.
	OnRefused func(host, reason string)

	connect func(context.Context, netip.AddrPort) (net.Conn, error) // nil: TCP; for tests
	own     func() ([]net.Addr, error)                              // nil: net.InterfaceAddrs; for tests

	once      sync.Once
	startErr  error
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	fixed     map[string]netip.Addr // by canonical name
	slots     chan struct{}         // one for each connection of the process
	names     names
	transport *http.Transport
	proxy     *http.Server // behind Proxy
	plain     *http.Server // behind HTTP, and CONNECT to port 80

	mu     sync.Mutex
	closed bool
	open   map[io.Closer]struct{} // what Close ends
	active sync.WaitGroup         // goroutines, connections and dials that Close waits for
}

// start sets up what all kinds share.
func (g *Gate) start() error {
	g.once.Do(func() {
		g.ctx, g.cancel = context.WithCancel(context.Background())
		g.open = map[io.Closer]struct{}{}
		g.slots = make(chan struct{}, maxConns)
		g.fixed = map[string]netip.Addr{}
		g.startHTTP()
		for host, addr := range g.Fixed {
			name, err := canonical(host)
			if err != nil || !addr.IsValid() {
				g.startErr = fmt.Errorf("egress: the fixed address of %s: not a host and an IP address", quote(host))
				return
			}
			g.fixed[name] = addr.Unmap()
		}
		if g.connect == nil {
			g.connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", to.String())
			}
		}
		if g.own == nil {
			g.own = net.InterfaceAddrs
		}
	})
	return g.startErr
}

// Serve serves a listener of a kind of [Listeners] and returns at once; the listener works
// until Close. It takes over the descriptor, after an error too: f is closed. An error
// means that the kind is unknown, that f is not a listener for it, or that g is closed.
func (g *Gate) Serve(kind string, f *os.File) error {
	defer f.Close() // package net works with a duplicate
	if kind == DNS {
		if pc, err := net.FilePacketConn(f); err == nil {
			return g.servePacket(pc)
		}
	}
	l, err := net.FileListener(f)
	if err != nil {
		return fmt.Errorf("egress: serve %s: the descriptor is no listener: %w", quote(kind), err)
	}
	return g.serve(kind, l)
}

// servePacket serves DNS over UDP.
func (g *Gate) servePacket(pc net.PacketConn) error {
	if err := g.start(); err != nil {
		pc.Close()
		return err
	}
	return g.run(pc, func() { g.serveDNS(pc) })
}

// serve serves a stream listener.
func (g *Gate) serve(kind string, inner net.Listener) error {
	if err := g.start(); err != nil {
		inner.Close()
		return err
	}
	l := &listener{inner, g}
	each := func(handle func(*link)) func() {
		return func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				g.active.Go(func() { // l holds the gate's Wait open until now
					defer c.Close()
					handle(c.(*link))
				})
			}
		}
	}
	switch kind {
	case Proxy:
		return g.run(l, func() { g.proxy.Serve(l) })
	case HTTP:
		return g.run(l, func() { g.plain.Serve(l) })
	case HTTPS:
		return g.run(l, each(g.serveTLS))
	case DNS:
		return g.run(l, each(g.serveDNSStream))
	}
	l.Close()
	return fmt.Errorf("egress: %s is no kind of listener; use %s, %s, %s or %s", quote(kind), Proxy, HTTP, HTTPS, DNS)
}

// run runs work, which ends when c is closed, in a goroutine of the gate.
func (g *Gate) run(c io.Closer, work func()) error {
	if !g.enter(c) {
		c.Close()
		return fmt.Errorf("egress: serve: the gate is closed: %w", net.ErrClosed)
	}
	go func() {
		defer g.leave(c)
		defer c.Close()
		work()
	}()
	return nil
}

// hold makes Close wait for a call of g.active.Done. It is false if the gate is closed.
func (g *Gate) hold() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.active.Add(1)
	}
	return !g.closed
}

// enter makes c one of those that Close ends and waits for, until leave. It is false if
// the gate is closed.
func (g *Gate) enter(c io.Closer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.open[c] = struct{}{}
	g.active.Add(1)
	return true
}

func (g *Gate) leave(c io.Closer) {
	g.mu.Lock()
	delete(g.open, c)
	g.mu.Unlock()
	g.active.Done()
}

// Close ends the listeners and all connections, and waits for what serves them. It may be
// called more than once.
func (g *Gate) Close() error {
	g.start() // a gate that never served is one that is closed now
	g.mu.Lock()
	g.closed = true
	for c := range g.open {
		c.Close()
	}
	g.mu.Unlock()
	g.cancel()
	g.transport.CloseIdleConnections()
	g.active.Wait()
	return nil
}
