package transfer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Writer writes a file. It is for one goroutine.
type Writer struct {
	out   *bufio.Writer
	check *checker
	sum   hash.Hash
	total int64
	err   error
}

// NewWriter writes the first line.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	c, err := newChecker(h)
	if err != nil {
		return nil, err
	}
	e := &Writer{out: bufio.NewWriterSize(w, 64<<10), check: c, sum: sha256.New()}
	return e, e.line(firstLine{Format, Version, h})
}

// Write writes a line. One that a Reader would refuse is an error; after an error
// nothing more is written.
func (e *Writer) Write(it Item) error {
	if e.err == nil {
		e.err = e.check.item(it)
	}
	if e.err == nil {
		e.err = e.line(it)
	}
	return e.err
}

// Close writes the last line, without which the file is a cut one.
func (e *Writer) Close() error {
	if e.err == nil {
		e.err = e.check.done()
	}
	if e.err != nil {
		return e.err
	}
	last := e.check.count
	last.SHA256 = hex.EncodeToString(e.sum.Sum(nil))
	if err := e.line(map[string]end{"end": last}); err != nil {
		return err
	}
	e.err = errors.New("the file is complete")
	return e.out.Flush()
}

func (e *Writer) line(v any) error {
	var b bytes.Buffer
	if err := jsonv2.MarshalWrite(&b, v); err != nil {
		return err
	}
	b.WriteByte('\n')
	e.total += int64(b.Len())
	switch {
	case b.Len() > MaxLine:
		return fmt.Errorf("a line would have %d bytes; the limit is %d", b.Len(), MaxLine)
	case e.total > MaxTotal:
		return fmt.Errorf("the file would have more than %d bytes", MaxTotal)
	}
	e.sum.Write(b.Bytes())
	_, err := e.out.Write(b.Bytes())
	return err
}
