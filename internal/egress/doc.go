// Package egress is the only door of an isolated process to the network: an HTTP
// proxy, plain HTTP and TLS by the name of the host, and the DNS that goes with them.
// Their listeners are made in the network namespace of the process and served here, by
// its caller, who is outside.
//
// # What is promised
//
// The process is the attacker; it writes any bytes to any listener, and it may own some
// of the hosts that it is allowed. What is connected to is an address that was checked,
// of a host and port that a [Pattern] allows:
//
//   - A host is resolved once for a connection, and what is dialled is the address that
//     was checked, never the name again. Addresses that are not public are refused, and
//     those of this machine, so that a host cannot point into the caller's networks
//     ([Gate.Fixed] is the exception, for tests).
//   - A name that is not allowed is not looked up. DNS answers carry an address of
//     127.1.0.0/16 that means the name and nothing else; they are made here.
//   - In plain HTTP, on port 80 whichever way it is reached, and through the proxy, the
//     Host field that is sent is the host that is dialled.
//   - Where a connection begins with TLS, the server name in the ClientHello is the host
//     that is dialled. Encrypted ClientHello (RFC 9849) is refused, a mere pretence of it
//     too (GREASE): a server that many share would follow the inner, hidden name.
//     The DNS never hands out what an honest client needs for it.
//
// # What is not
//
// What is said within TLS is not seen: a front end that serves many hosts may obey a Host
// field or an :authority there, or a second ClientHello, that names another than the one
// dialled. CONNECT to port 443 may carry what is no TLS, and CONNECT to a port that a
// pattern names, beside 80, is a pipe of which only a first ClientHello is looked at. A
// host that is allowed may be told anything, by a look-up of its name too; "*.example.com"
// trusts whoever owns example.com. A NAT64 prefix of the network's own, other than
// 64:ff9b::/96, is not known here.
package egress
