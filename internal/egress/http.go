package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// linkKey is where a request's context has the link that it came over.
type linkKey struct{}

// startHTTP makes the two servers and what they send requests on with. To parse and to
// write is net/http's: what it does not understand it answers with 400, and what is sent
// on is written anew, so that no two readers see two different requests.
func (g *Gate) startHTTP() {
	var only http.Protocols
	only.SetHTTP1(true)
	quiet := log.New(io.Discard, "", 0) // the process could fill the caller's log
	server := func(h http.HandlerFunc) *http.Server {
		return &http.Server{
			Handler:           h,
			Protocols:         &only,
			MaxHeaderBytes:    maxHeader - 4096, // net/http allows for 4096 more
			ReadHeaderTimeout: handshakeTime,
			IdleTimeout:       idleTime,
			ErrorLog:          quiet,
			BaseContext:       func(net.Listener) context.Context { return g.ctx },
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, linkKey{}, c)
			},
			// Of OPTIONS * net/http would not tell us.
			DisableGeneralOptionsHandler: true,
		}
	}
	g.proxy = server(g.serveProxy)
	g.plain = server(g.servePlain)
	g.transport = &http.Transport{
		Protocols: &only,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			t, err := parseTarget(addr, 0)
			if err != nil {
				return nil, malformed(addr, err)
			}
			return g.dial(ctx, t)
		},
		DisableCompression:     true, // as the process asked for it
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           16,
		IdleConnTimeout:        idleTime / 2,
		ExpectContinueTimeout:  time.Second,
	}
}

// serveProxy answers what comes to the proxy.
func (g *Gate) serveProxy(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		g.serveConnect(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Opaque != "" {
		http.Error(w, "callgate: this is a proxy, for CONNECT and for http:// URLs in the request line", http.StatusBadRequest)
		return
	}
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		g.fail(w, malformed(r.URL.Host, err))
		return
	}
	g.forward(w, r, t)
}

// servePlain answers what comes to an address that the DNS gave out, and through CONNECT
// to port 80.
func (g *Gate) servePlain(w http.ResponseWriter, r *http.Request) {
	l := r.Context().Value(linkKey{}).(*link)
	t, err := g.named(l, 80)
	if err != nil {
		g.fail(w, err)
		return
	}
	if r.Method == http.MethodConnect || r.URL.Opaque != "" || r.URL.Scheme != "" && r.URL.Scheme != "http" {
		http.Error(w, "callgate: this is a host's port 80, and no proxy; that is at 127.0.0.1:3128", http.StatusBadRequest)
		return
	}
	if r.Host != "" { // HTTP/1.0 need not have it
		h, err := parseTarget(r.Host, 80)
		if err != nil {
			g.fail(w, malformed(r.Host, err))
			return
		}
		if h != t {
			g.fail(w, &refusal{h.String(), fmt.Sprintf("the Host field names it on a connection to %s", t), "connect to the host that the request is for"})
			return
		}
	}
	g.forward(w, r, t)
}

// forward sends a request on to t.
func (g *Gate) forward(w http.ResponseWriter, r *http.Request, t target) {
	if r.URL.User != nil {
		g.fail(w, malformed(t.String(), errors.New("a user and a password stand before it; send an Authorization field")))
		return
	}
	// Another protocol (h2c) could name other hosts where nobody looks. A server that
	// does not see the offer answers in HTTP/1.1.
	r.Header.Del("Upgrade")
	host := strings.TrimSuffix(t.address(), ":80")
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", host, host
			p.Out.URL.RawQuery = p.In.URL.RawQuery // ReverseProxy drops what it cannot parse
			for _, f := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := p.In.Header[f]; ok {
					p.Out.Header[f] = v
				}
			}
		},
		// ReverseProxy refuses a switch unasked by itself, but then leaves the connection
		// to the host open.
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode == http.StatusSwitchingProtocols {
				return errors.New("it changes the protocol unasked")
			}
			return nil
		},
		Transport:     g.transport,
		FlushInterval: -1, // what streams keeps streaming
		ErrorLog:      g.proxy.ErrorLog,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { g.fail(w, err) },
	}
	proxy.ServeHTTP(w, r)
}

// serveConnect opens a tunnel.
func (g *Gate) serveConnect(w http.ResponseWriter, r *http.Request) {
	t, err := parseTarget(r.RequestURI, 0)
	if err != nil {
		g.fail(w, malformed(r.RequestURI, err))
		return
	}
	var up *link
	if t.port == 80 {
		// What is said there is plain HTTP, of which each request is looked at.
		err = g.allowed(t)
	} else {
		// Not the request's context: it ends when the process has said all that it
		// has to say, which may be before the tunnel is there.
		up, err = g.dial(g.ctx, t)
	}
	if err != nil {
		g.fail(w, err)
		return
	}
	c, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if up != nil {
			up.Close()
		}
		g.fail(w, err)
		return
	}
	l := c.(*link)
	early, _ := buf.Reader.Peek(buf.Reader.Buffered())
	l.ahead, l.target = io.MultiReader(strings.NewReader(string(early)), l.Conn), t
	if _, err := io.WriteString(l, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		l.Close()
		if up != nil {
			up.Close()
		}
		return
	}
	if up == nil {
		s := &single{l}
		g.plain.Serve(s) // returns when the connection is taken
		if s.c != nil {
			l.Close()
		}
		return
	}
	g.tunnel(l, up, t)
}

// fail answers a request that was refused or could not be sent on.
func (g *Gate) fail(w http.ResponseWriter, err error) {
	h := w.Header()
	clear(h)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if g.refuse(err) {
		h.Set("X-Callgate-Error", "egress_denied")
		w.WriteHeader(http.StatusForbidden)
		r, _ := errors.AsType[*refusal](err)
		fmt.Fprintln(w, r.Error())
		return
	}
	w.WriteHeader(http.StatusBadGateway)
	fmt.Fprintf(w, "callgate: egress: the host was not reached: %v\n", err)
}
