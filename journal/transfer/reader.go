package transfer

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Reader reads a file line by line; at most one line is in memory. It is for one
// goroutine.
type Reader struct {
	Header Header

	in    *bufio.Reader
	check *checker
	sum   hash.Hash
	line  int   // the number of the last line that was read, from 1
	total int64 // bytes that were read
	err   error
}

// NewReader reads the first line. A format or version that it does not know is an
// error.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	if err := d.first(); err != nil {
		return nil, d.wrap(err)
	}
	return d, nil
}

func (d *Reader) first() (err error) {
	b, err := d.read()
	if err == io.EOF {
		return errors.New("the file is empty")
	} else if err != nil {
		return err
	}
	var is struct {
		Format  string `json:"format"`
		Version int64  `json:"version"`
	}
	if err := jsonv2.Unmarshal(b, &is); err != nil || is.Format != Format {
		return fmt.Errorf("it is no exported session: its first line is not that of a %s file", Format)
	}
	if is.Version != Version {
		return fmt.Errorf("it has version %d of the format; this program reads version %d", is.Version, Version)
	}
	var h firstLine
	if err := jsonv2.Unmarshal(b, &h, strict); err != nil {
		return plain(err)
	}
	d.Header = h.Header
	d.sum.Write(b)
	d.check, err = newChecker(h.Header)
	return err
}

// firstLine is the first line.
type firstLine struct {
	Format  string `json:"format"`
	Version int64  `json:"version"`
	Header
}

// Next returns the next line; [io.EOF] after the last one, if the whole file is what
// was written. Until then nothing that it returned may be relied on. Its other errors
// name the line.
func (d *Reader) Next() (Item, error) {
	if d.err != nil {
		return Item{}, d.err
	}
	it, err := d.next()
	if err == nil {
		return it, nil
	}
	if d.err = io.EOF; err != io.EOF {
		d.err = d.wrap(err)
	}
	return Item{}, d.err
}

func (d *Reader) next() (Item, error) {
	b, err := d.read()
	if err == io.EOF {
		return Item{}, errCut
	} else if err != nil {
		return Item{}, err
	}
	var l struct {
		Item
		End *end `json:"end"`
	}
	if err := jsonv2.Unmarshal(b, &l, strict); err != nil {
		return Item{}, plain(err)
	}
	if l.End == nil {
		d.sum.Write(b)
		return l.Item, d.check.item(l.Item)
	}
	if l.Turn != nil || l.Approval != nil || l.Call != nil || l.Artifact != nil || l.Piece != nil {
		return Item{}, errors.New("the last line says more than that it is the last")
	}
	if err := d.check.done(); err != nil {
		return Item{}, err
	}
	want := d.check.count
	want.SHA256 = hex.EncodeToString(d.sum.Sum(nil))
	switch {
	case l.End.SHA256 != want.SHA256:
		return Item{}, errors.New("the lines before are not those whose SHA-256 it has: the file was changed")
	case *l.End != want:
		return Item{}, fmt.Errorf("it counts %d turns, %d approvals, %d calls and %d artifacts; there are %d, %d, %d and %d",
			l.End.Turns, l.End.Approvals, l.End.Calls, l.End.Artifacts, want.Turns, want.Approvals, want.Calls, want.Artifacts)
	}
	if _, err := d.read(); err != io.EOF {
		if err == nil {
			err = errors.New("there is more after the last line")
		}
		return Item{}, err
	}
	return Item{}, io.EOF
}

var errCut = errors.New("the file ends before its last line: it was cut")

// read returns the next line with its line feed; it is valid until the next one is
// read.
func (d *Reader) read() ([]byte, error) {
	var whole []byte
	for {
		part, err := d.in.ReadSlice('\n')
		d.total += int64(len(part))
		if len(whole) == 0 && len(part) > 0 {
			d.line++
		}
		switch {
		case len(whole)+len(part) > MaxLine:
			return nil, fmt.Errorf("it has more than %d bytes", MaxLine)
		case d.total > MaxTotal:
			return nil, fmt.Errorf("up to here the file has more than %d bytes", MaxTotal)
		case err == nil && whole == nil:
			return part, nil
		}
		whole = append(whole, part...)
		switch err {
		case nil:
			return whole, nil
		case bufio.ErrBufferFull:
		case io.EOF:
			if len(whole) > 0 {
				return nil, errCut
			}
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}

// wrap names the line.
func (d *Reader) wrap(err error) error { return fmt.Errorf("line %d: %w", max(d.line, 1), err) }

// plain says what is wrong with a line without the names of this program's types.
func plain(err error) error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("it is no JSON of this format at byte %d: %w", e.ByteOffset, e.Err)
	}
	if e, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		if e.Err != nil {
			return fmt.Errorf("%s: %w", e.JSONPointer, e.Err)
		}
		return fmt.Errorf("%s: a %s does not fit there", e.JSONPointer, e.JSONKind)
	}
	return err
}
