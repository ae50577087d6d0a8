#!/bin/bash
. "${0%/*}/../lib.sh"
needs python3
act <<'A'
/usr/bin/python3 - <<'P'
import http.server, threading, urllib.request
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
assert urllib.request.urlopen("http://127.0.0.1:%d/" % s.server_port, timeout=5).status == 200
assert urllib.request.urlopen("http://localhost:%d/" % s.server_port, timeout=5).status == 200
P
A
judge allow
