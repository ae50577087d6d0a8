package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// extensionECH is encrypted_client_hello (RFC 9849 §5).
const extensionECH = 0xfe0d

// accessDenied is the fatal alert of that name (RFC 8446 §6), in a record of its own.
const accessDenied = "\x15\x03\x03\x00\x02\x02\x31"

// errNoTLS says that a connection begins with something else.
var errNoTLS = errors.New("not TLS")

// A hello is the beginning of a TLS connection.
type hello struct {
	name string // server_name, "" if there is none
	ech  bool
	raw  []byte // all that was read, a ClientHello and perhaps more
}

// readHello reads a ClientHello, or one byte that begins none: then the error is errNoTLS.
// The raw bytes are there after an error too. To read it is left to crypto/tls, which
// takes it from any number of records, skips warnings before it as servers do, and refuses
// what is ambiguous: two names, an extension twice.
func readHello(r io.Reader) (h hello, err error) {
	var raw bytes.Buffer
	first := make([]byte, 1)
	if _, err := io.ReadFull(r, first); err != nil {
		return h, err
	}
	raw.Write(first)
	// Types of records, RFC 8446 §5.1 and RFC 6520: a server may take some of the others
	// before the handshake, too.
	if first[0] < 20 || first[0] > 24 {
		h.raw = raw.Bytes()
		return h, errNoTLS
	}
	rest := io.TeeReader(io.LimitReader(r, maxHeader-1), &raw)
	seen := false
	done := errors.New("seen")
	err = tls.Server(reading{io.MultiReader(bytes.NewReader(first), rest)}, &tls.Config{
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			seen, h.name, h.ech = true, info.ServerName, slices.Contains(info.Extensions, extensionECH)
			return nil, done
		},
	}).Handshake()
	h.raw = raw.Bytes()
	if seen {
		return h, nil
	}
	return h, err
}

// reading is a connection that is only read.
type reading struct{ r io.Reader }

func (c reading) Read(p []byte) (int, error)     { return c.r.Read(p) }
func (reading) Write(p []byte) (int, error)      { return len(p), nil } // alerts; we send our own
func (reading) Close() error                     { return nil }
func (reading) LocalAddr() net.Addr              { return nil }
func (reading) RemoteAddr() net.Addr             { return nil }
func (reading) SetDeadline(time.Time) error      { return nil }
func (reading) SetReadDeadline(time.Time) error  { return nil }
func (reading) SetWriteDeadline(time.Time) error { return nil }

// agree refuses a ClientHello that is not for the host.
func (h hello) agree(t target) error {
	if h.ech {
		return &refusal{t.String(), "the TLS connection hides the name of its server (Encrypted ClientHello, or GREASE of it)",
			"switch it off in the client; in Chromium: --disable-features=EncryptedClientHello"}
	}
	if h.name == "" {
		return nil
	}
	name, err := canonical(h.name)
	if err != nil {
		return malformed(h.name, err)
	}
	if name != t.host {
		return &refusal{name, fmt.Sprintf("the TLS connection names it as its server, on a connection to %s", t), "connect to the host that the connection is for"}
	}
	return nil
}

// vet reads the ClientHello of a connection of the process, and has l read it again.
// With patience the time for it starts with its first byte: a client may wait for its
// server to speak first, but not within its own first words.
func vet(l *link, t target, patience bool) (h hello, err error) {
	var r io.Reader = l.Conn
	if l.ahead != nil {
		r = l.ahead
	}
	if !patience {
		l.Conn.SetReadDeadline(time.Now().Add(handshakeTime))
	}
	h, err = readHello(&late{r, l.Conn, !patience})
	l.Conn.SetReadDeadline(time.Time{})
	l.ahead = io.MultiReader(bytes.NewReader(h.raw), r)
	if err != nil {
		return h, err
	}
	return h, h.agree(t)
}

// late sets a deadline after the first byte.
type late struct {
	r     io.Reader
	c     net.Conn
	begun bool
}

func (l *late) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if n > 0 && !l.begun {
		l.begun = true
		l.c.SetReadDeadline(time.Now().Add(handshakeTime))
	}
	return n, err
}

// named returns whom a connection to one of our addresses is for.
func (g *Gate) named(l *link, port uint16) (target, error) {
	if l.target != (target{}) {
		return l.target, nil
	}
	ap, err := netip.ParseAddrPort(l.LocalAddr().String())
	if err == nil {
		if host, ok := g.names.host(ap.Addr().Unmap()); ok {
			return target{host, port}, nil
		}
	}
	return target{}, &refusal{l.LocalAddr().String(), "this address of the sandbox means no host", "connect to a host by its name"}
}

// serveTLS serves a connection to port 443 of an address that the DNS gave out.
func (g *Gate) serveTLS(l *link) {
	deny := func(err error) {
		if g.refuse(err) {
			io.WriteString(l, accessDenied)
		}
	}
	t, err := g.named(l, 443)
	if err != nil {
		deny(err)
		return
	}
	h, err := vet(l, t, false)
	switch {
	case len(h.raw) == 0:
		return // somebody looked whether the port is open
	case errors.Is(err, errNoTLS):
		err = &refusal{t.String(), "what is said on port 443 is not TLS", "use the proxy, at 127.0.0.1:3128"}
	case err == nil && h.name == "":
		err = &refusal{t.String(), "the TLS connection does not name its server", "use a client that sends the name (SNI), or the proxy, at 127.0.0.1:3128"}
	case err != nil:
		err = hidden(t, err)
	}
	var up *link
	if err == nil {
		up, err = g.dial(g.ctx, t)
	}
	if err != nil {
		deny(err)
		return
	}
	join(l, up, func() error { return nil })
}

// tunnel serves a connection that CONNECT opened.
func (g *Gate) tunnel(l, up *link, t target) {
	join(l, up, func() error {
		h, err := vet(l, t, true)
		if len(h.raw) == 0 || errors.Is(err, errNoTLS) {
			return nil
		}
		if err != nil {
			err = hidden(t, err)
			g.refuse(err)
			io.WriteString(l, accessDenied)
		}
		return err
	})
}

// hidden makes a refusal of a ClientHello that we cannot read: its server might.
func hidden(t target, err error) error {
	if _, ok := errors.AsType[*refusal](err); ok {
		return err
	}
	return &refusal{t.String(), "its first bytes are no ClientHello of TLS: " + strings.TrimPrefix(err.Error(), "tls: "), ""}
}
