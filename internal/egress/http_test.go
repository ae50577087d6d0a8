package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// What a request through the proxy looks like to its host.
func TestProxy(t *testing.T) {
	w := newWorld(t, "example.com", "example.com:8080")
	type seen struct {
		host, uri string
		header    http.Header
		body      string
	}
	got := make(chan seen, 1)
	answer := func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- seen{r.Host, r.RequestURI, r.Header, string(b)}
		rw.Header().Set("X-Answer", "yes")
		rw.Header().Set("Proxy-Authenticate", "Basic")
		rw.WriteHeader(http.StatusTeapot)
		io.WriteString(rw, "tea")
	}
	w.upstream(80, answer)
	w.upstream(8080, answer)
	port := w.serve(Proxy)

	res := w.exchange("127.0.0.1", port, "POST http://Example.com./a%2fb?x;y=%zz HTTP/1.1\r\nHost: other.example\r\nX-Keep: 1\r\nX-Drop: 2\r\n"+
		"Connection: x-drop, upgrade\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic c2VjcmV0\r\nUpgrade: h2c\r\nX-Forwarded-For: 1.2.3.4\r\nContent-Length: 4\r\n\r\nbody")
	if len(res) != 1 || res[0].StatusCode != http.StatusTeapot || res[0].Header.Get("X-Answer") != "yes" || res[0].Header.Get("Proxy-Authenticate") != "" {
		t.Fatalf("%+v", res)
	}
	if b, _ := io.ReadAll(res[0].Body); string(b) != "tea" {
		t.Errorf("body %q", b)
	}
	s := <-got
	if s.host != "example.com" || s.uri != "/a%2fb?x;y=%zz" || s.body != "body" {
		t.Errorf("the host saw %+v", s)
	}
	for _, h := range []string{"X-Drop", "Connection", "Proxy-Connection", "Proxy-Authorization", "Upgrade", "User-Agent", "Accept-Encoding"} {
		if v, ok := s.header[h]; ok {
			t.Errorf("the host saw %s: %q", h, v)
		}
	}
	if s.header.Get("X-Keep") != "1" || s.header.Get("X-Forwarded-For") != "1.2.3.4" {
		t.Errorf("the host saw %v", s.header)
	}

	res = w.exchange("127.0.0.1", port, "GET http://example.com:8080 HTTP/1.1\r\nHost: example.com:8080\r\n\r\n")
	if s = <-got; len(res) != 1 || s.host != "example.com:8080" || s.uri != "/" {
		t.Errorf("the host saw %+v", s)
	}
	w.want("dialled", &w.dialled, publicAddr+":80", publicAddr+":8080")
	w.want("refused", &w.refused)
}

// What is no request for a proxy, or could be read in two ways, gets no further.
func TestProxyMisuse(t *testing.T) {
	for _, c := range []struct {
		head   string
		status int
	}{
		{"GET / HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"OPTIONS * HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET http:example.com HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET http:///x HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://user:pw@example.com/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://example.com@evil.example/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://evil.example#example.com/ HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET http://example.com%00.evil.example/ HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET http://example.com%2f.evil.example/ HTTP/1.1\r\nHost: example.com\r\n", 400},
		{"GET http://[::1]/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://[::ffff:8.8.8.8]/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://0x7f.1/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://example.com:81/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://example.com:080/ HTTP/1.1\r\nHost: example.com\r\n", 403},
		{"GET http://example.com/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400},
		{"GET http://example.com/ HTTP/1.1\r\nHost : example.com\r\n", 400},
		{"POST http://example.com/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", 400},
		{"POST http://example.com/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n", 501},
		{"POST http://example.com/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n", 400},
		{"PRI * HTTP/2.0\r\n", 400},
		{"CONNECT example.com HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT /example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT evil.example:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT user@example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT example.com:0443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT example.com:22 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT 2130706433:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT [::1]:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT ::1:443 HTTP/1.1\r\nHost: example.com:443\r\n", 400},
		{"CONNECT 8.8.8.8:443 HTTP/1.1\r\nHost: example.com:443\r\n", 403},
		{"CONNECT evil.example:80 HTTP/1.1\r\nHost: example.com:80\r\n", 403},
	} {
		w := newWorld(t, "example.com")
		w.upstream(80, func(http.ResponseWriter, *http.Request) {})
		w.accept(443, func(net.Conn) {})
		res := w.exchange("127.0.0.1", w.serve(Proxy), c.head+"\r\n")
		if len(res) != 1 || res[0].StatusCode != c.status {
			t.Errorf("%q: %s, want %d", c.head, statuses(res), c.status)
		}
		w.want(c.head, &w.dialled)
		w.g.Close()
	}
}

// A request that is hidden in another one's body is not seen as a request by the host, and
// the gate answers it by its own rules.
func TestSmuggling(t *testing.T) {
	w := newWorld(t, "example.com")
	hosts := make(chan string, 10)
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		hosts <- fmt.Sprintf("%s %s %v %d", r.Host, r.URL.Path, r.TransferEncoding, len(b))
	})
	port := w.serve(Proxy)
	inner := "GET /hidden HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	w.exchange("127.0.0.1", port, fmt.Sprintf("POST http://example.com/outer HTTP/1.1\r\nHost: example.com\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", 5+len(inner), inner))
	w.exchange("127.0.0.1", port, fmt.Sprintf("POST http://example.com/length HTTP/1.1\r\nHost: example.com\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner))
	w.exchange("127.0.0.1", port, "GET http://example.com/line\r\n X: y HTTP/1.1\r\nHost: example.com\r\n\r\n")
	w.g.Close()
	close(hosts)
	var got []string
	for h := range hosts {
		got = append(got, h)
	}
	want := []string{"example.com /outer [chunked] 0", fmt.Sprintf("example.com /length [] %d", len(inner))}
	if !slices.Equal(got, want) {
		t.Errorf("the host saw %q, want %q", got, want)
	}
}

// A host that changes the protocol unasked does not get a pipe that nobody looks into.
func TestSwitchingProtocols(t *testing.T) {
	for _, fields := range []string{"", "Connection: Upgrade\r\nUpgrade: \r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n"} {
		testSwitching(t, fields)
	}
}

func testSwitching(t *testing.T, fields string) {
	w := newWorld(t, "example.com")
	w.accept(80, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+fields+"\r\n")
		io.Copy(io.Discard, c)
	})
	res := w.exchange("127.0.0.1", w.serve(Proxy), "GET http://example.com/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
	if len(res) != 1 || res[0].StatusCode != http.StatusBadGateway {
		t.Errorf("%q: %s", fields, statuses(res))
	}
}

// What a host sends reaches the process when it is sent, not when there is enough of it.
func TestStreams(t *testing.T) {
	w := newWorld(t, "example.com")
	next := make(chan bool)
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "8")
		io.WriteString(rw, "one\n")
		rw.(http.Flusher).Flush()
		<-next
		io.WriteString(rw, "two\n")
	})
	c := w.dial("127.0.0.1", w.serve(Proxy))
	io.WriteString(c, "GET http://example.com/ HTTP/1.1\r\nHost: x\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	lines := bufio.NewReader(res.Body)
	if s, err := lines.ReadString('\n'); s != "one\n" {
		t.Errorf("%q, %v", s, err)
	}
	close(next)
	if s, err := lines.ReadString('\n'); s != "two\n" {
		t.Errorf("%q, %v", s, err)
	}
}

// Port 80 of an address that the DNS gave, and a tunnel to port 80, are the same road.
func TestPlain(t *testing.T) {
	w := newWorld(t, "example.com", "other.example", "only.example:443")
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) { fmt.Fprintf(rw, "%s%s", r.Host, r.RequestURI) })
	proxy, plain := w.serve(Proxy), w.serve(HTTP)
	direct := func(name string) func(string) []*http.Response {
		return func(raw string) []*http.Response { return w.exchange(w.fake(name), plain, raw) }
	}
	for _, c := range []struct {
		name   string
		do     func(string) []*http.Response
		raw    string
		status int
		want   string // the body, or a part of it
	}{
		{"direct", direct("example.com."), "GET /a HTTP/1.1\r\nHost: example.com\r\n\r\n", 200, "example.com/a"},
		{"case, port, dot", direct("EXAMPLE.com."), "GET /a HTTP/1.1\r\nHost: Example.COM.:80\r\n\r\n", 200, "example.com/a"},
		{"HTTP/1.0", direct("example.com."), "GET /a HTTP/1.0\r\n\r\n", 200, "example.com/a"},
		{"fronting", direct("example.com."), "GET /a HTTP/1.1\r\nHost: other.example\r\n\r\n", 403, "Host field"},
		{"fronting by the URL", direct("example.com."), "GET http://other.example/a HTTP/1.1\r\nHost: example.com\r\n\r\n", 403, "Host field"},
		{"another port in Host", direct("example.com."), "GET /a HTTP/1.1\r\nHost: example.com:81\r\n\r\n", 403, "Host field"},
		{"odd Host", direct("example.com."), "GET /a HTTP/1.1\r\nHost: example.com@evil\r\n\r\n", 400, ""},
		{"absolute", direct("example.com."), "GET http://example.com/a HTTP/1.1\r\nHost: other.example\r\n\r\n", 200, "example.com/a"},
		{"https by the URL", direct("example.com."), "GET https://example.com/a HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "no proxy"},
		{"CONNECT", direct("example.com."), "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 400, "no proxy"},
		{"the port is not allowed", direct("only.example."), "GET /a HTTP/1.1\r\nHost: only.example\r\n\r\n", 403, "--allow-host only.example"},
		{"an address that means nothing", func(raw string) []*http.Response { return w.exchange("127.1.200.200", plain, raw) },
			"GET /a HTTP/1.1\r\nHost: example.com\r\n\r\n", 403, "means no host"},
		{"loopback", func(raw string) []*http.Response { return w.exchange("127.0.0.1", plain, raw) },
			"GET /a HTTP/1.1\r\nHost: example.com\r\n\r\n", 403, "means no host"},
	} {
		res := c.do(c.raw)
		if len(res) != 1 || res[0].StatusCode != c.status {
			t.Errorf("%s: %s", c.name, statuses(res))
			continue
		}
		if b, _ := io.ReadAll(res[0].Body); !strings.Contains(string(b), c.want) {
			t.Errorf("%s: %q", c.name, b)
		}
	}
	before := len(w.seen(&w.dialled))
	for _, c := range []struct {
		host   string
		status int
	}{{"example.com", 200}, {"other.example", 403}} {
		conn, r, res := w.connect(proxy, "example.com:80")
		if res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
		for range 2 { // the connection serves more than one request
			fmt.Fprintf(conn, "GET /b HTTP/1.1\r\nHost: %s\r\n\r\n", c.host)
			res, err := http.ReadResponse(r, nil)
			must(t, err)
			if b, _ := io.ReadAll(res.Body); res.StatusCode != c.status || c.status == 200 && string(b) != "example.com/b" {
				t.Errorf("tunnel for %s: %s %q", c.host, res.Status, b)
			}
		}
	}
	if n := len(w.seen(&w.dialled)); n > before+1 {
		t.Errorf("%d connections for two requests", n-before)
	}
}

// What a client sends right behind CONNECT is not lost.
func TestConnectEarly(t *testing.T) {
	w := newWorld(t, "example.com", "example.com:22")
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, r.Host) })
	w.accept(22, func(c net.Conn) { io.Copy(c, c); c.(*net.TCPConn).CloseWrite() })
	port := w.serve(Proxy)
	for _, c := range []struct{ target, raw, want string }{
		{"example.com:80", "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n", "\r\n\r\nexample.com"},
		{"example.com:22", "SSH-2.0-x\r\n", "SSH-2.0-x\r\n"},
	} {
		conn := w.dial("127.0.0.1", port)
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n%s", c.target, c.raw)
		if c.target != "example.com:80" { // of which net/http says that the client is gone
			conn.(*net.TCPConn).CloseWrite()
		}
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 ") || !strings.HasSuffix(string(got), c.want) {
			t.Errorf("%s: %q, %v", c.target, got, err)
		}
	}
}

func TestHeaderLimit(t *testing.T) {
	w := newWorld(t, "example.com")
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/much" {
			rw.Header().Set("X", strings.Repeat("x", maxHeader))
		}
	})
	port := w.serve(Proxy)
	for n, want := range map[int]int{maxHeader - 1000: 200, maxHeader + 1: 431} {
		res := w.exchange("127.0.0.1", port, "GET http://example.com/ HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", n)+"\r\n\r\n")
		if len(res) != 1 || res[0].StatusCode != want {
			t.Errorf("%d bytes: %+v, want %d", n, res, want)
		}
	}
	if res := w.exchange("127.0.0.1", port, "GET http://example.com/much HTTP/1.1\r\nHost: x\r\n\r\n"); len(res) != 1 || res[0].StatusCode != 502 {
		t.Errorf("an answer with too much: %+v", res)
	}
}

// The method and the target of a request, however they are spelled, lead to hosts that are
// allowed and to addresses that were checked.
func FuzzConnect(f *testing.F) {
	for _, s := range []string{"CONNECT example.com:443", "CONNECT evil.example:443", "GET http://example.com/", "GET http://example.com@evil.example/",
		"CONNECT [::1]:443", "CONNECT 8.8.8.8:80", "GET http://a.example.com:80/x?y", "CONNECT example.com.:0443", "GET //example.com/", "CONNECT private.example.org:443",
		"GET http://EXAMPLE.com\\@evil/", "CONNECT example.com%00:443", "CONNECT a.example.com:80"} {
		f.Add(s, "example.com")
	}
	w := newWorld(f, "example.com", "*.example.com", "private.example.org", "8.8.8.8")
	w.upstream(80, func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Host) })
	w.accept(443, func(c net.Conn) {})
	port := w.serve(Proxy)
	w.g.Lookup = lookupFor(w)
	f.Fuzz(func(t *testing.T, line, host string) {
		w.mu.Lock()
		w.looked, w.dialled, w.refused = nil, nil, nil
		w.mu.Unlock()
		c, err := net.Dial("tcp4", "127.0.0.1:"+port)
		must(t, err)
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, host)
		r := bufio.NewReader(c)
		got, _ := r.ReadString('\n')
		if strings.Contains(got, " 200 Connection established") { // a tunnel ends when we do
			c.(*net.TCPConn).CloseWrite()
		}
		rest, _ := io.ReadAll(r)
		got += string(rest)
		for _, s := range w.seen(&w.looked) {
			if tt, err := newTarget(s, 443); err != nil || w.g.allowed(tt) != nil || tt.host != s {
				t.Errorf("%q: %q is looked up", line, s)
			}
		}
		for _, s := range w.seen(&w.dialled) {
			if s != publicAddr+":443" && s != publicAddr+":80" && s != "8.8.8.8:443" && s != "8.8.8.8:80" {
				t.Errorf("%q: %s is dialled", line, s)
			}
		}
		if len(w.seen(&w.dialled)) > 0 && len(w.seen(&w.refused)) > 0 {
			t.Errorf("%q: %q is dialled and %q refused", line, w.seen(&w.dialled), w.seen(&w.refused))
		}
		if len(w.seen(&w.refused)) > 0 != strings.Contains(got, "\r\nX-Callgate-Error: egress_denied\r\n") {
			t.Errorf("%q: refused %q, answered %q", line, w.seen(&w.refused), got)
		}
	})
}
