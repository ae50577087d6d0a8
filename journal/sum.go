package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// A sum is a SHA-256 over fields, each of which can be told from the next: numbers
// have eight bytes, texts their length before them.
type sum struct{ h hash.Hash }

// newSum begins the sum of a row of the given kind.
func newSum(kind string) sum {
	s := sum{sha256.New()}
	s.h.Write([]byte("callgate journal 1 " + kind + "\n"))
	return s
}

func (s sum) numbers(list ...int64) {
	for _, n := range list {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		s.h.Write(b[:])
	}
}

func (s sum) texts(list ...string) {
	for _, t := range list {
		s.bytes([]byte(t))
	}
}

func (s sum) bytes(list ...[]byte) {
	for _, b := range list {
		s.numbers(int64(len(b)))
		s.h.Write(b)
	}
}

func (s sum) flag(b bool) {
	if b {
		s.numbers(1)
	} else {
		s.numbers(0)
	}
}

func (s sum) done() []byte { return s.h.Sum(nil) }
