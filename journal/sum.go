package journal

import (
	"crypto/sha256"
	"encoding/binary"
)

// A sum is a SHA-256 over fields, each of which can be told from the next: numbers
// have eight bytes, texts their length before them.
type sum struct{ b []byte } // what is hashed in the end: at once, since most fields are short

// newSum begins the sum of a row of the given kind.
func newSum(kind string) *sum {
	return &sum{append(make([]byte, 0, 2048), "callgate journal 1 "+kind+"\n"...)}
}

func (s *sum) numbers(list ...int64) {
	for _, n := range list {
		s.b = binary.BigEndian.AppendUint64(s.b, uint64(n))
	}
}

func (s *sum) texts(list ...string) {
	for _, t := range list {
		s.numbers(int64(len(t)))
		s.b = append(s.b, t...)
	}
}

func (s *sum) bytes(list ...[]byte) {
	for _, b := range list {
		s.numbers(int64(len(b)))
		s.b = append(s.b, b...)
	}
}

func (s *sum) flag(b bool) {
	if b {
		s.numbers(1)
	} else {
		s.numbers(0)
	}
}

func (s *sum) done() []byte {
	h := sha256.Sum256(s.b)
	return h[:]
}
