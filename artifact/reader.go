package artifact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Reader reads an artifact whose digest was checked when it was opened. ReadAt may be called by many goroutines at once.
type Reader struct {
	*io.SectionReader
	Artifact Artifact

	f *os.File
}

// Close releases the file.
func (r *Reader) Close() error { return r.f.Close() }

// Open reads the whole artifact once to check its digest ([ErrChanged] if it differs) and returns a reader of the same open
// file, at its start. To page a long artifact keep the reader.
func (s *Store) Open(id string) (*Reader, error) {
	a, name, err := s.find(id)
	if err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s%s", ErrNotFound, Scheme, id)
	} else if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	if err := check(f, a); err != nil {
		f.Close()
		return nil, err
	}
	return &Reader{SectionReader: io.NewSectionReader(f, 0, a.Size), Artifact: a, f: f}, nil
}

func check(f *os.File, a Artifact) error {
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", ErrChanged, a.Ref())
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(f, 0, a.Size+1)) // one more: a file that grew is a changed one
	if err != nil {
		return fmt.Errorf("artifact: %s: %w", a.Ref(), err)
	}
	if n != a.Size || [sha256.Size]byte(h.Sum(nil)) != a.SHA256 {
		return fmt.Errorf("%w: %s; its content cannot be trusted, produce it again", ErrChanged, a.Ref())
	}
	return nil
}
