package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestServeRefuses(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	must(t, err)
	if err := w.g.Serve("socks", f); err == nil {
		t.Error("an unknown kind is served")
	}
	if _, err := f.Stat(); err == nil {
		t.Error("the descriptor is still open")
	}
	file, err := os.Create(t.TempDir() + "/file")
	must(t, err)
	for _, kind := range []string{Proxy, HTTP, HTTPS, DNS} {
		if err := w.g.Serve(kind, file); err == nil {
			t.Errorf("%s is served on a file", kind)
		}
	}
	if f, err = l.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	g := &Gate{Fixed: map[string]netip.Addr{"127.1": netip.MustParseAddr("127.0.0.1")}}
	if err := g.Serve(Proxy, f); err == nil {
		t.Error("a fixed address of what is no host is taken")
	}
	must(t, g.Close())
}

// The zero gate serves, and refuses everything.
func TestZeroGate(t *testing.T) {
	w := newWorld(t)
	w.g = new(Gate)
	defer w.g.Close()
	res := w.exchange("127.0.0.1", w.serve(Proxy), "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if statuses(res) != "403 Forbidden; " {
		t.Error(statuses(res))
	}
	must(t, new(Gate).Close())
}

// Close ends whatever goes on, in whichever state, and nothing is left of it.
func TestClose(t *testing.T) {
	w := newWorld(t, "example.com", "example.com:22", "slow.example")
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	w.accept(22, func(c net.Conn) { io.Copy(io.Discard, c) })
	w.accept(443, func(c net.Conn) { io.Copy(io.Discard, c) })
	proxy, plain, secure := w.serve(Proxy), w.serve(HTTP), w.serve(HTTPS)
	w.serve(DNS)

	var open []net.Conn
	add := func(c net.Conn, raw string) {
		io.WriteString(c, raw)
		open = append(open, c)
	}
	tunnel, _, _ := w.connect(proxy, "example.com:22")
	add(tunnel, "")
	half, _, _ := w.connect(proxy, "example.com:22")
	half.(*net.TCPConn).CloseWrite()
	add(half, "")
	plainTunnel, _, _ := w.connect(proxy, "example.com:80")
	add(plainTunnel, "GET /slow HTTP/1.1\r\nHost: example.com\r\n\r\n")
	add(w.dial("127.0.0.1", proxy), "")
	add(w.dial("127.0.0.1", proxy), "GET http://example.com/slow HTTP/1.1\r\nHost: example.com\r\n\r\n")
	idle := w.dial("127.0.0.1", proxy)
	add(idle, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(idle), nil); err != nil { // and a connection to the host that may be used again
		t.Error(err)
	}
	add(w.dial("127.0.0.1", plain), "GET / HT")
	add(w.dial(w.fake("example.com."), secure), "\x16\x03")
	add(w.dial(w.fake("example.com."), secure), string(clientHello(t, "example.com")))
	for len(w.seen(&w.dialled)) < 5 {
		time.Sleep(time.Millisecond)
	}

	began := time.Now()
	must(t, w.g.Close())
	must(t, w.g.Close())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	w.g.mu.Lock()
	if len(w.g.open)+len(w.g.slots) > 0 {
		t.Errorf("%d connections and %d slots are left", len(w.g.open), len(w.g.slots))
	}
	w.g.mu.Unlock()
	for i, c := range open {
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d is open", i)
		}
	}
	for _, port := range []string{proxy, plain, secure} {
		if c, err := net.Dial("tcp4", "127.0.0.1:"+port); err == nil {
			c.Close()
			t.Errorf("port %s is open", port)
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	must(t, err)
	if err := w.g.Serve(Proxy, f); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve after Close: %v", err)
	}
	if _, err := w.g.dial(t.Context(), target{"example.com", 443}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a dial after Close: %v", err)
	}
	// The last lines of net/http's goroutines run after they have closed what is theirs.
	for end := time.Now().Add(5 * time.Second); goroutines() != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("goroutines are left:\n%s", goroutines())
		}
	}
}

// Close does not wait for a resolver.
func TestCloseEndsDials(t *testing.T) {
	w := newWorld(t, "example.com")
	asked := make(chan bool)
	w.g.Lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	must(t, w.g.start())
	go func() { // with a context of its own, as net/http's Transport dials
		<-asked
		w.g.Close()
	}()
	began := time.Now()
	if _, err := w.g.dial(context.Background(), target{"example.com", 443}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// What ends by itself leaves nothing, either.
func TestNothingIsKept(t *testing.T) {
	w := newWorld(t, "example.com", "example.com:22")
	w.upstream(80, func(http.ResponseWriter, *http.Request) {})
	w.accept(22, func(c net.Conn) { io.Copy(c, c) })
	proxy := w.serve(Proxy)
	for range 20 {
		c, _, _ := w.connect(proxy, "example.com:22")
		io.WriteString(c, "hello")
		c.Close()
		c, r, _ := w.connect(proxy, "example.com:22")
		c.(*net.TCPConn).CloseWrite()
		io.ReadAll(r)
		w.exchange("127.0.0.1", proxy, "GET http://example.com/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		w.exchange("127.0.0.1", proxy, "GET http://evil.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		w.connect(proxy, "example.com:23")
	}
	left := func() int {
		w.g.mu.Lock()
		defer w.g.mu.Unlock()
		return len(w.g.slots)
	}
	for end := time.Now().Add(5 * time.Second); left() > 20; time.Sleep(time.Millisecond) { // those of refused tunnels wait for another request
		if time.Now().After(end) {
			t.Fatalf("%d connections are left", left())
		}
	}
}

// More connections than there are slots wait for one.
func TestConnectionLimit(t *testing.T) {
	w := newWorld(t, "example.com:22")
	w.accept(22, func(c net.Conn) { io.Copy(io.Discard, c) })
	port := w.serve(Proxy)
	held := make([]net.Conn, maxConns)
	for i := range held {
		held[i] = w.dial("127.0.0.1", port)
	}
	for len(w.g.slots) < maxConns {
		time.Sleep(time.Millisecond)
	}
	c := w.dial("127.0.0.1", port)
	fmt.Fprint(c, "CONNECT example.com:22 HTTP/1.1\r\nHost: x\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("connection %d: %v", maxConns+1, err)
	}
	held[7].Close()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("when one is free: %v", err)
	}
}

// Once a side has ended, silence ends a connection; bytes keep it open.
func TestLinger(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int // one each four minutes
		want  time.Duration
	}{
		{"silence", 0, time.Second + lingerTime},
		{"a slow answer", 3, 12*time.Minute + lingerTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				a := &link{Conn: sink{ours}, ahead: eof{}, done: func() {}}
				b := &link{Conn: sink{ours}, done: func() {}}
				began := time.Now()
				go func() {
					for range c.bytes {
						time.Sleep(4 * time.Minute)
						theirs.Write([]byte("."))
					}
				}()
				join(a, b, func() error { return nil })
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				theirs.Close()
			})
		})
	}
}

// A sink is a connection that takes what is written and half a Close.
type sink struct{ net.Conn }

func (sink) Write(p []byte) (int, error) { return len(p), nil }
func (sink) CloseWrite() error           { return nil }

type eof struct{}

func (eof) Read([]byte) (int, error) {
	time.Sleep(time.Second) // when the other direction waits
	return 0, io.EOF
}

// A request whose header does not come to an end is given up after ten seconds, and a
// connection without a request after a minute.
func TestHeaderTime(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		"":                                  handshakeTime,
		"GET / HTTP/1.1\r\nHost: ":          handshakeTime,
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n": idleTime,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			ours, theirs := net.Pipe()
			must(t, w.g.start())
			l, err := w.g.link(ours, func() {})
			must(t, err)
			began := time.Now()
			w.g.proxy.Serve(&single{l})
			go io.WriteString(theirs, raw)
			io.Copy(io.Discard, theirs)
			if took := time.Since(began); took != want {
				t.Errorf("%q: %v, want %v", raw, took, want)
			}
			theirs.Close()
			w.g.Close()
		})
	}
}

// What a process needs is what can be served.
func TestListeners(t *testing.T) {
	w := newWorld(t)
	for _, l := range Listeners {
		var f *os.File
		if l.Network == "udp4" {
			c, err := net.ListenPacket(l.Network, "127.0.0.1:0")
			must(t, err)
			f, err = c.(*net.UDPConn).File()
			must(t, err)
			c.Close()
		} else {
			c, err := net.Listen(l.Network, "127.0.0.1:0")
			must(t, err)
			f, err = c.(*net.TCPListener).File()
			must(t, err)
			c.Close()
		}
		if err := w.g.Serve(l.Kind, f); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
		if _, err := netip.ParseAddrPort(l.Addr); err != nil {
			t.Error(err)
		}
	}
}
