package artifact

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/callgate/callgate/internal/filelock"
)

// Put keeps all that r gives, at most MaxItem bytes, and stops when ctx ends. On any error nothing is kept.
func (s *Store) Put(ctx context.Context, r io.Reader) (Artifact, error) {
	return s.put(ctx, r, (*Writer).Commit)
}

// Restore keeps what r gives under an id that it had in another store, if its SHA-256 is sum: other content is
// [ErrChanged], and so is an id that other content has here. If it is here already, it stays as it is, r is not read, and
// created is false.
func (s *Store) Restore(ctx context.Context, id string, sum [sha256.Size]byte, r io.Reader) (created bool, err error) {
	switch a, err := s.Stat(id); {
	case err == nil && a.SHA256 == sum:
		return false, nil
	case err == nil:
		return false, fmt.Errorf("%w: %s is here with another one", ErrChanged, a.Ref())
	case !errors.Is(err, ErrNotFound):
		return false, err
	}
	_, err = s.put(ctx, r, func(w *Writer) (Artifact, error) {
		if [sha256.Size]byte(w.sum.Sum(nil)) != sum {
			return Artifact{}, fmt.Errorf("%w: what was to be kept as %s%s", ErrChanged, Scheme, id)
		}
		return w.commitAs(id)
	})
	return err == nil, err
}

func (s *Store) put(ctx context.Context, r io.Reader, commit func(*Writer) (Artifact, error)) (Artifact, error) {
	w, err := s.Create(0)
	if err != nil {
		return Artifact{}, err
	}
	defer w.Close()
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return Artifact{}, err
		}
		n, readErr := r.Read(buf)
		if _, err := w.Write(buf[:n]); err != nil {
			return Artifact{}, err
		}
		if readErr == io.EOF {
			return commit(w)
		} else if readErr != nil {
			return Artifact{}, readErr
		}
	}
}

// Writer writes one artifact, for output that comes in pieces. It is for one goroutine.
type Writer struct {
	s       *Store
	f       *os.File
	temp    string
	sum     hash.Hash
	size    int64
	limit   int64
	taken   int64 // bytes of the store's total that are set aside for this writer
	room    int64 // how many of them are not used yet
	err     error // a failed write: Commit must not keep a file with a hole
	settled bool
}

// Create starts an artifact of at most limit bytes; 0, or more than MaxItem, means MaxItem. Call Commit to keep it and
// Close in any case.
func (s *Store) Create(limit int64) (*Writer, error) {
	if limit <= 0 || limit > s.opts.MaxItem {
		limit = s.opts.MaxItem
	}
	for range 8 {
		temp := tempPrefix + strings.ToLower(rand.Text())
		f, err := s.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, fmt.Errorf("artifact: %w", err)
		}
		// Another process that opens the store can come between creation and lock, and take the file for a dead one's.
		if filelock.Try(f) == filelock.Busy || !filelock.Linked(f) {
			f.Close()
			continue
		}
		s.mu.Lock()
		s.writing[temp] = true
		s.mu.Unlock()
		return &Writer{s: s, f: f, temp: temp, sum: sha256.New(), limit: limit}, nil
	}
	return nil, errors.New("artifact: another process keeps removing temporary files")
}

// Write appends p. What goes past the limit is refused with [ErrTooLarge], what the store has no room for with [ErrFull];
// n says what was taken, and Commit then keeps what was.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.settled {
		return 0, fs.ErrClosed
	}
	if w.err != nil {
		return 0, w.err
	}
	var refusal error
	if left := w.limit - w.size; int64(len(p)) > left {
		p = p[:left]
		refusal = fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, w.limit)
	}
	if err := w.s.reserve(w, int64(len(p))); err != nil {
		return 0, err
	}
	n, err = w.f.Write(p)
	w.sum.Write(p[:n])
	w.size += int64(n)
	if err != nil {
		w.err = fmt.Errorf("artifact: %w", err)
		return n, w.err
	}
	return n, refusal
}

// step is how much room a writer takes at once, so that the directory is not listed for every write.
const step = 1 << 20

func (s *Store) reserve(w *Writer, n int64) error {
	if n <= w.room {
		w.room -= n
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	others, err := s.total()
	if err != nil {
		return err
	}
	free := s.opts.MaxTotal - others - s.pending + w.room
	if n > free {
		return fmt.Errorf("%w: it holds %d of %d bytes; remove artifacts or raise the limit", ErrFull, others+s.pending, s.opts.MaxTotal)
	}
	take := min(free, max(n, step))
	s.pending += take - w.room
	w.taken += take - w.room
	w.room = take - n
	return nil
}

// total is the size of everything in the directory but what we are writing. The caller holds mu.
func (s *Store) total() (int64, error) {
	names, err := s.names()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		if s.writing[name] {
			continue
		}
		if st, err := s.root.Lstat(name); err == nil && st.Mode().IsRegular() {
			sum += st.Size()
		}
	}
	return sum, nil
}

// Size is the number of bytes taken so far.
func (w *Writer) Size() int64 { return w.size }

// ReadAt reads from what was written so far, for who shows an output that is still growing. After Commit or Close it fails.
func (w *Writer) ReadAt(p []byte, off int64) (n int, err error) {
	if w.settled {
		return 0, fs.ErrClosed
	}
	return w.f.ReadAt(p, off)
}

// Commit keeps what was written and ends the writer. If a write failed at the operating system, nothing is kept.
func (w *Writer) Commit() (Artifact, error) { return w.commitAs(strings.ToLower(rand.Text()[:idLen])) }

func (w *Writer) commitAs(id string) (Artifact, error) {
	if w.settled {
		return Artifact{}, fs.ErrClosed
	}
	if w.err != nil {
		w.Close()
		return Artifact{}, w.err
	}
	a := Artifact{ID: id, Size: w.size}
	w.sum.Sum(a.SHA256[:0])
	if err := w.commit(&a); err != nil {
		w.Close()               // if the failure was before the rename
		w.s.root.Remove(w.temp) // if it was the rename
		return Artifact{}, fmt.Errorf("artifact: %w", err)
	}
	return a, nil
}

func (w *Writer) commit(a *Artifact) error {
	if w.s.opts.Sync {
		if err := w.f.Sync(); err != nil {
			return err
		}
	}
	st, err := w.f.Stat()
	if err != nil {
		return err
	}
	a.Created = st.ModTime()
	if closeBeforeRename {
		w.f.Close()
	}
	name := a.ID + "." + hex.EncodeToString(a.SHA256[:])
	if err := w.settle(func() error { return w.s.root.Rename(w.temp, name) }); err != nil {
		return err
	}
	if w.s.opts.Sync {
		if d, err := w.s.root.Open("."); err == nil {
			d.Sync() // some platforms cannot
			d.Close()
		}
	}
	return nil
}

// Close gives up an artifact that was not committed; after Commit it does nothing.
func (w *Writer) Close() error {
	if w.settled {
		return nil
	}
	return w.settle(func() error { return w.s.root.Remove(w.temp) })
}

// settle ends the writer together with its file's change of name, so that nobody counts its bytes twice or not at all.
func (w *Writer) settle(rename func() error) error {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	err := rename()
	w.settled = true
	w.f.Close()
	delete(w.s.writing, w.temp)
	w.s.pending -= w.taken
	return err
}
