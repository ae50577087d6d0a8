#!/bin/bash
. "${0%/*}/../lib.sh"
needs python3
act <<'A'
flock lock true
/usr/bin/python3 - <<'P'
import fcntl, mmap, os, sqlite3
f = open("locked", "w+b"); fcntl.lockf(f, fcntl.LOCK_EX); fcntl.flock(f, fcntl.LOCK_EX)
f.truncate(1 << 20); m = mmap.mmap(f.fileno(), 0); m[5:8] = b"abc"; m.flush()
assert open("locked", "rb").read()[5:8] == b"abc"
db = sqlite3.connect("x.db"); db.execute("pragma journal_mode=wal"); db.execute("create table t(a)"); db.execute("insert into t values (1)"); db.commit()
os.posix_fallocate(f.fileno(), 0, 1 << 21); os.fsync(f.fileno())
P
A
judge allow
