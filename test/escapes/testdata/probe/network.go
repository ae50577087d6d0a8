package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const patience = 4 * time.Second

func init() {
	acts["dial"] = dial
	acts["send"] = send
	acts["raw"] = raw
	acts["families"] = families
	acts["netlink"] = netlink
	acts["mptcp"] = func([]string) { socket("multipath TCP", unix.AF_INET, unix.SOCK_STREAM, 262) }
	acts["ping"] = ping
	acts["get"] = get
	acts["lookup"] = lookup
	acts["two"] = two
	acts["connect"] = connect
	acts["handshake"] = handshake
}

// dial NETWORK ADDRESS: a connection that answers.
func dial(args []string) {
	c, err := net.DialTimeout(args[0], args[1], patience)
	if err == nil {
		c.SetDeadline(time.Now().Add(patience))
		_, err = io.ReadFull(c, make([]byte, 4))
	}
	done("dial "+args[1], err)
}

// send NETWORK ADDRESS: a datagram. Whether it arrived, the receiver says.
func send(args []string) {
	c, err := net.Dial(args[0], args[1])
	if err == nil {
		_, err = c.Write([]byte("x"))
	}
	fmt.Println("tried send", args[1], err)
}

func socket(what string, family, kind, proto int) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	done(what, err)
	unix.Close(fd)
}

func raw([]string) {
	socket("raw IPv4", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	socket("raw IPv6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6)
	socket("packet", unix.AF_PACKET, unix.SOCK_RAW, 0)
	socket("packet datagram", unix.AF_PACKET, unix.SOCK_DGRAM, 0)
}

// families tries all that there are, but for those that ordinary programs need.
func families([]string) {
	needed := []int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	for family := range 47 {
		if slices.Contains(needed, family) {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET, unix.SOCK_RAW} {
			fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				fmt.Println("DID family", family, "type", kind)
				unix.Close(fd)
				break
			}
		}
	}
	fmt.Println("tried families")
}

func netlink([]string) {
	for proto := 1; proto < 23; proto++ { // 0 is NETLINK_ROUTE
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
		if err == nil {
			fmt.Println("DID netlink", proto)
			unix.Close(fd)
		}
	}
	fmt.Println("tried netlink")
}

// ping sends an echo request to an address of the host that is not 127.0.0.1.
func ping(args []string) {
	for _, s := range args {
		ip := net.ParseIP(s).To4()
		if ip == nil || ip.IsLoopback() {
			continue
		}
		for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW} {
			fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
			if err != nil {
				fmt.Println("tried ping:", err)
				continue
			}
			packet := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0} // echo request, checksum of the rest
			err = unix.Sendto(fd, packet, 0, &unix.SockaddrInet4{Addr: [4]byte(ip)})
			if err == nil {
				unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
				_, _, err = unix.Recvfrom(fd, make([]byte, 128), 0)
			}
			done("ping "+s, err)
			unix.Close(fd)
		}
	}
}

// get URL [proxy|direct]: an HTTP request by the proxy that the environment names, or
// without any. Certificates are not looked at: the server's is of today.
func get(args []string) {
	tr := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if args[1] == "direct" {
		tr.Proxy = nil
	} else {
		req, _ := http.NewRequest("GET", args[0], nil)
		if u, err := http.ProxyFromEnvironment(req); u == nil {
			fmt.Println("bad: no proxy in the environment", err)
			return
		}
	}
	c := http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Get(args[0])
	if err != nil {
		fmt.Println("tried get:", err)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	report(fmt.Sprint("get ", res.StatusCode), string(body))
}

// report says DID if an answer is that of the test's server.
func report(what, body string) {
	if strings.Contains(body, "ANSWER-OF-THE-SERVER") || strings.Contains(body, "DID hello") {
		fmt.Println("DID", what)
		return
	}
	fmt.Printf("tried %s: %q\n", what, body)
}

// lookup NAME...: what the resolver says, first by the system's file, then asked directly.
func lookup(names []string) {
	for _, name := range names {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		r := net.Resolver{PreferGo: true}
		addrs, err := r.LookupHost(ctx, name)
		if err == nil {
			fmt.Println("DID lookup", name, addrs)
		} else {
			fmt.Println("tried lookup", name, err)
		}
		cancel()
	}
}

// two ADDRESS HOST1 HOST2: two requests on one connection.
func two(args []string) {
	c, err := net.DialTimeout("tcp", args[0], patience)
	if err != nil {
		fmt.Println("tried two:", err)
		return
	}
	c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(c)
	for i, host := range args[1:] {
		target := "/"
		if os.Getenv("ABSOLUTE") != "" {
			target = "http://" + host + "/"
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, host)
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			fmt.Println("tried request", i+1, err)
			return
		}
		body, _ := io.ReadAll(res.Body)
		if i == 0 {
			if !strings.Contains(string(body), "ANSWER-OF-THE-SERVER") {
				fmt.Printf("bad: the first request has no answer: %q\n", body)
				return
			}
			fmt.Println("first answered")
			continue
		}
		report(fmt.Sprint("request ", i+1), string(body))
	}
}

// connect TARGET: a tunnel through the proxy, by hand.
func connect(args []string) {
	u, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || u.Host == "" {
		fmt.Println("bad: no proxy in the environment")
		return
	}
	for _, target := range args {
		c, err := net.DialTimeout("tcp", u.Host, patience)
		if err != nil {
			fmt.Println("tried connect:", err)
			return
		}
		c.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
		res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "CONNECT"})
		if err != nil {
			fmt.Println("tried connect", target, err)
		} else if res.StatusCode == 200 {
			tunnel(c, target) // a proxy may look at what comes before it goes anywhere
		} else {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 500))
			fmt.Printf("tried connect %s: %d %q\n", target, res.StatusCode, body)
		}
		c.Close()
	}
}

// tunnel asks for an answer through a connection that the proxy has made.
func tunnel(c net.Conn, target string) {
	host, port, _ := net.SplitHostPort(target)
	if port == "443" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: host})
	}
	fmt.Fprintf(c, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", host)
	b, err := io.ReadAll(io.LimitReader(c, 4096))
	if err != nil {
		fmt.Println("tried tunnel", target, err)
	}
	report("connect "+target, string(b))
}

// handshake ADDRESS NAME: TLS with the name in it, "-" for none, and a request.
func handshake(args []string) {
	conf := &tls.Config{InsecureSkipVerify: true, ServerName: args[1]}
	if args[1] == "-" {
		conf.ServerName = ""
	}
	raw, err := net.DialTimeout("tcp", args[0], patience)
	if err != nil {
		fmt.Println("tried handshake:", err)
		return
	}
	raw.SetDeadline(time.Now().Add(patience))
	c := tls.Client(raw, conf)
	if err := c.Handshake(); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("closed")
		}
		fmt.Println("tried handshake", args[1], err)
		return
	}
	fmt.Fprintf(c, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", args[1])
	b, _ := io.ReadAll(io.LimitReader(c, 4096))
	report("handshake "+strconv.Quote(args[1]), string(b))
}
