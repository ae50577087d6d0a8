#!/bin/bash
. "${0%/*}/../lib.sh"
needs python3
act <<'A'
/usr/bin/python3 - <<'P'
import multiprocessing as mp, threading
from multiprocessing import shared_memory
def f(x): return x * x
if __name__ == "__main__":
    with mp.get_context("fork").Pool(2) as p: assert p.map(f, range(9))[-1] == 64
    s = shared_memory.SharedMemory(create=True, size=64); s.buf[0] = 7; s.close(); s.unlink()
    q = mp.Semaphore(1); q.acquire()
    a, b = mp.Pipe(); a.send("x"); assert b.recv() == "x"
    ts = [threading.Thread(target=f, args=(1,)) for _ in range(20)]
    [t.start() for t in ts]; [t.join() for t in ts]
P
A
judge allow
