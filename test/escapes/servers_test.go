//go:build linux

package escapes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"
)

// startServer serves HTTP at port 80 and HTTPS at port 443 of an address of the
// loopback that nobody else uses, and returns it, or "" if this is not possible. It
// answers for all names: who is let through is not its business.
func startServer(t *testing.T) string {
	t.Helper()
	for i := range 20 {
		ip := fmt.Sprintf("127.77.%d.%d", i, 1+time.Now().Nanosecond()%250)
		plain, err := net.Listen("tcp4", ip+":80")
		if err != nil {
			continue
		}
		secure, err := net.Listen("tcp4", ip+":443")
		if err != nil {
			plain.Close()
			continue
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "ANSWER-OF-THE-SERVER for %s\n", r.Host)
		}), ReadHeaderTimeout: 10 * time.Second}
		go srv.Serve(plain)
		go srv.Serve(tls.NewListener(secure, &tls.Config{Certificates: []tls.Certificate{certificate(t)}}))
		// A name that the system gives an address of this machine has the usual one.
		if l, err := net.Listen("tcp4", "127.0.0.1:80"); err == nil {
			go srv.Serve(l)
		}
		return ip
	}
	return ""
}

// certificate makes one of today, signed by itself.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"api.escapes.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
