#!/bin/bash
. "${0%/*}/../lib.sh"
needs python3
act <<'A'
/usr/bin/python3 - <<'P'
import socket, threading, array, os
s = socket.socket(socket.AF_UNIX); s.bind("s.sock"); s.listen(1)
def serve():
    c, _ = s.accept(); c.sendall(b"hello"); c.close()
threading.Thread(target=serve).start()
c = socket.socket(socket.AF_UNIX); c.connect("s.sock"); assert c.recv(9) == b"hello"
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [os.open("s.txt", os.O_CREAT | os.O_RDWR)])
assert socket.recv_fds(b, 1, 1)[1]
P
A
judge allow
