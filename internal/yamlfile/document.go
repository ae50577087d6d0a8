// Package yamlfile reads the files that people write for callgate: YAML 1.2 as far
// as it is JSON with less punctuation (JSON itself is accepted), one document of
// mappings, lists and plain values. Anchors, aliases, merge keys and tags are
// refused, so that what a line says can be seen on it. A file becomes JSON, which
// the validator of arguments judges, and every fault is told with its line.
package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/schema"
)

// A Document is a file as JSON, with the place where each value, or the key before
// it, stands.
type Document struct {
	Path string // name of the file in messages
	JSON []byte

	at map[jsontext.Pointer]position
}

// An Error is a fault of a file.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 if unknown
	Path         string // JSON Pointer of what is wrong
	Message      string // what is wrong and what to do
}

// Error returns file:line:column: message.
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	if s != "" {
		s += ": "
	}
	return s + e.Message
}

// ReadFile returns the content of a regular file; a FIFO would be waited for. The
// error of a file that does not exist satisfies errors.Is(err, fs.ErrNotExist).
func ReadFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &Error{File: path, Message: "it is not a regular file"}
	}
	return os.ReadFile(path)
}

// Parse reads data, of at most 1 MiB; path is the name of the file in messages. An
// error is an *Error.
func Parse(path string, data []byte) (*Document, error) {
	d, err := read(data)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			e.File = path
		}
		return nil, err
	}
	d.Path = path
	return d, nil
}

// Bind holds the document against s, which was inferred from the type of into, and
// decodes it. Every violation is an *Error with its line; several are joined.
func (d *Document) Bind(s *schema.Schema, into any) error {
	violations, err := s.Validate(d.JSON)
	if syntax, ok := errors.AsType[*schema.SyntaxError](err); ok {
		return d.Fault(syntax.Path, "%s", syntax.Message)
	}
	if err != nil {
		return &Error{File: d.Path, Message: err.Error()}
	}
	var faults []*Error
	for _, v := range violations {
		faults = append(faults, d.Fault(v.Path, "%s", v.String()))
	}
	if err := Join(faults); err != nil {
		return err
	}
	if err := schema.Bind(d.JSON, into); err != nil { // cannot be: the schema was inferred from the type
		return &Error{File: d.Path, Message: err.Error()}
	}
	return nil
}

// Fault returns an *Error about the value at a JSON Pointer.
func (d *Document) Fault(at, format string, args ...any) *Error {
	p := d.where(jsontext.Pointer(at))
	return &Error{File: d.Path, Line: p.line, Column: p.column, Path: at, Message: fmt.Sprintf(format, args...)}
}

// Where returns the line on which the value at a JSON Pointer stands, as file:line,
// for messages about it.
func (d *Document) Where(at string) string {
	return fmt.Sprintf("%s:%d", d.Path, d.where(jsontext.Pointer(at)).line)
}

// where returns the position of the value at a JSON Pointer, or of the nearest
// thing around it.
func (d *Document) where(at jsontext.Pointer) position {
	for {
		if p, ok := d.at[at]; ok {
			return p
		}
		if at == "" {
			return position{1, 1}
		}
		at = at.Parent()
	}
}

// Join returns the faults as one error in the order of their lines: nil for none,
// the fault itself if there is one.
func Join(faults []*Error) error {
	slices.SortStableFunc(faults, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(faults))
	for i, e := range faults {
		errs[i] = e
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
