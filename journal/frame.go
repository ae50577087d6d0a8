package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A spool is a sequence of frames: the length of the payload, its CRC-32C (four bytes
// each, big-endian), and the payload. The payload is the format, the parts that it
// has, and their fields: numbers are varints, texts have their length before them. A
// frame is written with one write; what follows the last whole one is what a process
// was writing when it died, or nothing.

// spoolFormat is changed with the fields.
const spoolFormat = 1

// The parts of a frame.
const (
	partClaim  = 1 << iota // of a call that is about to start
	partSettle             // what became of it
)

const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A frame is a row as far as the parts say.
type frame struct {
	parts byte
	row   row
}

// appendFrame adds the parts of r to b. Its owner is not in it: the spool is his.
func appendFrame(b []byte, parts byte, r *row) []byte {
	start := len(b)
	b = append(b, make([]byte, frameHead)...)
	b = append(b, spoolFormat, parts)
	b = appendText(b, r.session)
	b = appendNumbers(b, r.turn, r.index, r.run, r.claimed)
	if parts&partClaim != 0 {
		for _, t := range []string{r.callID, r.tool, r.source, r.toolDigest, r.effect, r.verdict, r.rule, r.reason, r.by, r.labels, r.sandbox} {
			b = appendText(b, t)
		}
		b = appendText(b, r.arguments)
		b = appendText(b, r.digest)
		b = appendFlag(b, r.redacted)
	}
	if parts&partSettle != 0 {
		b = appendNumbers(b, r.started, r.ended, r.attempts)
		b = appendText(b, r.state)
		b = appendText(b, r.code)
		b = appendFlag(b, r.truncated)
		b = appendText(b, r.result)
		b = appendFlag(b, r.redacted)
		b = appendText(b, r.artifact)
		b = appendText(b, r.artifactSum)
	}
	payload := b[start+frameHead:]
	binary.BigEndian.PutUint32(b[start:], uint32(len(payload)))
	binary.BigEndian.PutUint32(b[start+4:], crc32.Checksum(payload, castagnoli))
	return b
}

func appendText[T ~string | ~[]byte](b []byte, t T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(t))), t...)
}

func appendNumbers(b []byte, list ...int64) []byte {
	for _, n := range list {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func appendFlag(b []byte, f bool) []byte {
	if f {
		return append(b, 1)
	}
	return append(b, 0)
}

// frames returns the frames that data begins with. What follows the last whole frame
// is ignored; a whole one that does not hold what it should is an error: another
// version wrote it, and it must not be lost.
func frames(data []byte) (list []frame, err error) {
	for len(data) >= frameHead {
		size, sum := int64(binary.BigEndian.Uint32(data)), binary.BigEndian.Uint32(data[4:])
		if size == 0 || size > int64(len(data)-frameHead) {
			break
		}
		payload := data[frameHead : frameHead+size]
		if crc32.Checksum(payload, castagnoli) != sum {
			break
		}
		f, err := parseFrame(payload)
		if err != nil {
			return nil, err
		}
		list, data = append(list, f), data[frameHead+size:]
	}
	return list, nil
}

func parseFrame(payload []byte) (f frame, err error) {
	p := parser{rest: payload}
	if format := p.byte(); format != spoolFormat {
		return f, fmt.Errorf("a frame has format %d; this version knows %d", format, spoolFormat)
	}
	f.parts = p.byte()
	r := &f.row
	r.session = p.text()
	p.numbers(&r.turn, &r.index, &r.run, &r.claimed)
	if f.parts&partClaim != 0 {
		for _, t := range []*string{&r.callID, &r.tool, &r.source, &r.toolDigest, &r.effect, &r.verdict, &r.rule, &r.reason, &r.by, &r.labels, &r.sandbox} {
			*t = p.text()
		}
		r.arguments, r.digest, r.redacted = p.bytes(), p.bytes(), p.flag()
	}
	if f.parts&partSettle != 0 {
		p.numbers(&r.started, &r.ended, &r.attempts)
		r.state, r.code, r.truncated = p.text(), p.text(), p.flag()
		r.result, r.redacted, r.artifact, r.artifactSum = p.bytes(), p.flag(), p.text(), p.bytes()
	}
	if p.bad || len(p.rest) > 0 || f.parts == 0 || f.parts&^(partClaim|partSettle) != 0 {
		return f, errors.New("a frame does not hold what its format says")
	}
	return f, nil
}

// A parser takes fields off a payload. After the first that is not there, bad is set
// and all are zero.
type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) byte() byte {
	if len(p.rest) == 0 {
		p.bad = true
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

func (p *parser) flag() bool {
	b := p.byte()
	p.bad = p.bad || b > 1
	return b == 1
}

func (p *parser) numbers(into ...*int64) {
	for _, to := range into {
		n, size := binary.Varint(p.rest)
		if size <= 0 {
			p.bad, p.rest = true, nil
			return
		}
		*to, p.rest = n, p.rest[size:]
	}
}

// bytes returns a copy that is not nil: columns are not.
func (p *parser) bytes() []byte { return append([]byte{}, p.text()...) }

func (p *parser) text() string {
	n, size := binary.Uvarint(p.rest)
	if size <= 0 || n > uint64(len(p.rest)-size) {
		p.bad, p.rest = true, nil
		return ""
	}
	t := string(p.rest[size : size+int(n)])
	p.rest = p.rest[size+int(n):]
	return t
}
