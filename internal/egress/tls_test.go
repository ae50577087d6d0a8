package egress

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clientHello returns what a client of crypto/tls begins with.
func clientHello(t testing.TB, name string) []byte {
	var b bytes.Buffer
	c := tls.Client(recorder{reading{strings.NewReader("")}, &b}, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := c.Handshake(); b.Len() == 0 {
		t.Fatal(err)
	}
	return slices.Clone(b.Bytes())
}

type recorder struct {
	reading
	w io.Writer
}

func (r recorder) Write(p []byte) (int, error) { return r.w.Write(p) }

// withExtension returns a ClientHello, of one record, with one more extension at its end.
func withExtension(hello []byte, typ uint16, data []byte) []byte {
	h := slices.Clone(hello)
	n := 4 + len(data)
	at := 5 + 4 + 2 + 32
	at += 1 + int(h[at])                           // session
	at += 2 + int(binary.BigEndian.Uint16(h[at:])) // cipher suites
	at += 1 + int(h[at])                           // compression
	for _, length := range []int{3, 7, at} {       // of the record, the message (of 24 bits) and the extensions
		binary.BigEndian.PutUint16(h[length:], binary.BigEndian.Uint16(h[length:])+uint16(n))
	}
	h = binary.BigEndian.AppendUint16(h, typ)
	h = binary.BigEndian.AppendUint16(h, uint16(len(data)))
	return append(h, data...)
}

// inRecords cuts the one record of a ClientHello into many.
func inRecords(hello []byte, size int) (out []byte) {
	for part := range slices.Chunk(hello[5:], size) {
		out = append(out, 22, 3, 1)
		out = binary.BigEndian.AppendUint16(out, uint16(len(part)))
		out = append(out, part...)
	}
	return out
}

// ech is an encrypted_client_hello of the outer kind: suite, config, key and payload.
var ech = slices.Concat([]byte{0, 0, 1, 0, 1, 9, 0, 32}, make([]byte, 32), []byte{0, 32}, make([]byte, 32))

// Whom a ClientHello names, in its many shapes.
var hellos = []struct {
	name  string
	bytes func(testing.TB) []byte
	tls   bool   // it is taken for TLS
	says  string // what the refusal of a tunnel to example.com says, "" if there is none
	bare  string // and of a connection to its address, where that differs
}{
	{"same name", func(t testing.TB) []byte { return clientHello(t, "example.com") }, true, "", ""},
	{"case", func(t testing.TB) []byte {
		return bytes.Replace(clientHello(t, "example.com"), []byte("example.com"), []byte("eXample.COM"), 1)
	}, true, "", ""},
	{"other name", func(t testing.TB) []byte { return clientHello(t, "other.example") }, true, "names it as its server", ""},
	{"name below", func(t testing.TB) []byte { return clientHello(t, "www.example.com") }, true, "names it as its server", ""},
	{"odd name", func(t testing.TB) []byte {
		return bytes.Replace(clientHello(t, "example.com"), []byte("example.com"), []byte("example\x00com"), 1)
	}, true, "it is no host", ""},
	{"dot", func(t testing.TB) []byte {
		return bytes.Replace(clientHello(t, "example.com"), []byte("example.com"), []byte("xample.com."), 1)
	}, true, "no ClientHello", ""},
	{"no name", func(t testing.TB) []byte { return clientHello(t, "8.8.8.8") }, true, "", "does not name its server"},
	{"two records", func(t testing.TB) []byte { return inRecords(clientHello(t, "example.com"), 200) }, true, "", ""},
	{"other name in many records", func(t testing.TB) []byte { return inRecords(clientHello(t, "other.example"), 7) }, true, "names it as its server", ""},
	{"other name after a warning", func(t testing.TB) []byte {
		return append([]byte{21, 3, 1, 0, 2, 1, 90}, clientHello(t, "other.example")...)
	}, true, "names it as its server", ""},
	{"unknown extension", func(t testing.TB) []byte { return withExtension(clientHello(t, "example.com"), 0x5a5a, nil) }, true, "", ""},
	{"two names", func(t testing.TB) []byte {
		return withExtension(clientHello(t, "example.com"), 0, []byte("\x00\x10\x00\x00\x0dother.example"))
	}, true, "no ClientHello", ""},
	{"ECH", func(t testing.TB) []byte { return withExtension(clientHello(t, "example.com"), extensionECH, ech) }, true, "Encrypted ClientHello", ""},
	{"ECH, inner", func(t testing.TB) []byte {
		return withExtension(clientHello(t, "example.com"), extensionECH, []byte{1})
	}, true, "Encrypted ClientHello", ""},
	{"broken", func(testing.TB) []byte { return []byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00") }, true, "no ClientHello", ""},
	{"application data", func(testing.TB) []byte { return []byte("\x17\x03\x03\x00\x05hello") }, true, "no ClientHello", ""},
	{"too long", func(t testing.TB) []byte {
		return inRecords(append([]byte{22, 3, 1, 0, 0, 1, 0, 0xff, 0xff}, make([]byte, 1<<16)...), 1)
	}, true, "no ClientHello", ""},
	{"long", func(t testing.TB) []byte {
		return inRecords(withExtension(clientHello(t, "example.com"), 21, make([]byte, 12_000)), 10_000)
	}, true, "", ""},
	{"too long as it comes", func(t testing.TB) []byte {
		return inRecords(withExtension(clientHello(t, "example.com"), 21, make([]byte, 12_000)), 1)
	}, true, "no ClientHello", ""},
	{"not TLS", func(testing.TB) []byte { return []byte("SSH-2.0-OpenSSH_10\r\n") }, false, "", "is not TLS"},
}

// A tunnel carries a ClientHello for the host that it is to, and each of its bytes; of any
// other the host sees nothing.
func TestTunnelTLS(t *testing.T) {
	for _, c := range hellos {
		t.Run(c.name, func(t *testing.T) { testHello(t, c.bytes(t), c.says, false) })
	}
}

// A connection to an address that the DNS gave has to be TLS, and to name its host.
func TestTransparentTLS(t *testing.T) {
	for _, c := range hellos {
		says := c.says
		if c.bare != "" {
			says = c.bare
		}
		t.Run(c.name, func(t *testing.T) { testHello(t, c.bytes(t), says, true) })
	}
}

func testHello(t *testing.T, raw []byte, says string, transparent bool) {
	w := newWorld(t, "example.com")
	got := make(chan string, 1)
	w.accept(443, func(c net.Conn) {
		c.SetDeadline(time.Now().Add(10 * time.Second))
		b, _ := io.ReadAll(c)
		got <- string(b)
		io.WriteString(c, "answer")
	})
	var c net.Conn
	var r io.Reader
	if transparent {
		c = w.dial(w.fake("example.com."), w.serve(HTTPS))
		r = c
	} else {
		c, r, _ = w.connect(w.serve(Proxy), "example.com:443")
	}
	sent := string(raw) + "early data"
	for part := range slices.Chunk([]byte(sent), 1000) {
		c.Write(part)
	}
	c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(r)
	if says == "" {
		if s := <-got; s != sent {
			t.Errorf("the host saw %.200q, want %.200q", s, sent)
		}
		if string(answer) != "answer" { // after we have said all: half-closed
			t.Errorf("answer %q", answer)
		}
		w.want("refused", &w.refused)
		return
	}
	if string(answer) != accessDenied && len(answer) > 0 { // a reset may overtake it
		t.Errorf("answer %q", answer)
	}
	if transparent {
		w.want("dialled", &w.dialled)
	} else if s := <-got; s != "" {
		t.Errorf("the host saw %.200q", s)
	}
	if r := w.seen(&w.refused); len(r) != 1 || !strings.Contains(r[0], says) {
		t.Errorf("refused: %q, want %q", r, says)
	}
}

func TestAlert(t *testing.T) {
	w := newWorld(t, "example.com")
	port := w.serve(HTTPS)
	for _, addr := range []string{w.fake("example.com."), "127.1.200.200"} {
		c := tls.Client(w.dial(addr, port), &tls.Config{ServerName: "other.example"})
		err := c.Handshake()
		if err == nil || err.Error() != "remote error: tls: access denied" {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if r := w.seen(&w.refused); len(r) != 2 || !strings.Contains(r[1], "means no host") {
		t.Errorf("refused: %q", r)
	}
}

// The port has to be allowed, too, when the name is.
func TestTransparentPort(t *testing.T) {
	w := newWorld(t, "example.com:80")
	c := w.dial(w.fake("example.com."), w.serve(HTTPS))
	c.Write(clientHello(t, "example.com"))
	io.ReadAll(c)
	w.want("refused", &w.refused, "example.com: no pattern allows it")
}

// A server that speaks first is heard before its client has said anything.
func TestServerFirst(t *testing.T) {
	w := newWorld(t, "example.com:22")
	w.accept(22, func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n"); io.Copy(c, c) })
	c, r, _ := w.connect(w.serve(Proxy), "example.com:22")
	if s, err := r.ReadString('\n'); s != "SSH-2.0-x\r\n" {
		t.Fatalf("%q, %v", s, err)
	}
	io.WriteString(c, "SSH-2.0-y\r\n")
	if s, err := r.ReadString('\n'); s != "SSH-2.0-y\r\n" {
		t.Fatalf("%q, %v", s, err)
	}
}

// A ClientHello that does not come to an end holds a connection for ten seconds; who has
// not begun one in a tunnel may wait for the server.
func TestHandshakeTime(t *testing.T) {
	for _, c := range []struct {
		name     string
		send     string
		patience bool
		want     time.Duration // 0: as long as the peer stays
	}{
		{"nothing", "", false, handshakeTime},
		{"a beginning", "\x16\x03\x01", false, handshakeTime},
		{"nothing in a tunnel", "", true, 0},
		{"a beginning in a tunnel", "\x16\x03\x01", true, handshakeTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				began := time.Now()
				defer theirs.Close()
				time.AfterFunc(time.Hour, func() { theirs.Close() })
				go io.WriteString(theirs, c.send)
				_, err := vet(&link{Conn: ours}, target{"example.com", 443}, c.patience)
				want := c.want
				if want == 0 {
					want = time.Hour
				} else if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				if took := time.Since(began); took != want {
					t.Errorf("%v after %v, want %v", err, took, want)
				}
			})
		})
	}
}

// The deadline of the ClientHello is not that of what follows it.
func TestDeadlineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			theirs.Write(clientHello(t, "example.com"))
			time.Sleep(time.Hour)
			io.WriteString(theirs, "late")
			theirs.Close()
		}()
		l := &link{Conn: ours}
		if _, err := vet(l, target{"example.com", 443}, true); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(l); err != nil || !bytes.HasSuffix(b, []byte("late")) {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
}

// Whatever a ClientHello is: what is let through to a host names that host or none, by the
// reading of a server of crypto/tls too, and is passed on byte for byte.
func FuzzSNI(f *testing.F) {
	for _, c := range hellos {
		if b := c.bytes(f); len(b) < 4096 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := readHello(bytes.NewReader(raw))
		if !bytes.HasPrefix(raw, h.raw) {
			t.Fatalf("read %q of %q", h.raw, raw)
		}
		if len(raw) == 0 {
			return
		}
		if errors.Is(err, errNoTLS) {
			if raw[0] == 22 || len(h.raw) != 1 {
				t.Fatalf("%q is not TLS?", raw)
			}
			return
		}
		if err != nil || h.agree(target{"example.com", 443}) != nil {
			return
		}
		if !h.ech && h.name == "" {
			return
		}
		if h.ech || !strings.EqualFold(h.name, "example.com") {
			t.Fatalf("%+v is let through", h)
		}
		if !bytes.Contains(bytes.ToLower(join22(raw)), []byte("example.com")) {
			t.Fatalf("%q has no such name", raw)
		}
	})
}

// join22 puts the records of a handshake together again, without TLS's own reader.
func join22(raw []byte) (out []byte) {
	for len(raw) >= 5 {
		n := min(5+int(binary.BigEndian.Uint16(raw[3:])), len(raw))
		if raw[0] == 22 {
			out = append(out, raw[5:n]...)
		}
		raw = raw[n:]
	}
	return out
}

// A whole handshake and a request, as a program makes them that knows of no proxy.
func TestWholeTLS(t *testing.T) {
	w := newWorld(t, "example.com")
	w.g.Fixed = map[string]netip.Addr{"example.com": netip.MustParseAddr("127.0.0.1")}
	cert := selfSigned(t, "example.com")
	w.accept(443, func(c net.Conn) {
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		io.Copy(s, s)
		s.CloseWrite()
	})
	c := tls.Client(w.dial(w.fake("example.com."), w.serve(HTTPS)), &tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() { c.Write(sent); c.CloseWrite() }()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	w.want("dialled", &w.dialled, "127.0.0.1:443")
}
