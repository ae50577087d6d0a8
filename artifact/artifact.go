// Package artifact keeps outputs that are too long for a model's turn, so that they can be paged later by a short name.
//
// # What it promises
//
// An artifact is written whole or not at all, readable by its owner only (0600 in a 0700 directory), under a random name
// that cannot be guessed. Its SHA-256 is part of its file name, is checked before a reader is handed out, and a file that
// no longer matches is an error that names the artifact.
//
// # What it does not
//
// Who can write into the directory can replace an artifact together with its file name; compare [Artifact.SHA256] with the
// digest kept elsewhere (the journal keeps it) to notice. Content is not encrypted.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/filelock"
)

// Scheme is what a reference starts with: "artifact:" and the id.
const Scheme = "artifact:"

// The limits that a zero Options stands for.
const (
	DefaultMaxTotal = 2 << 30   // 2 GiB in the whole store
	DefaultMaxItem  = 256 << 20 // 256 MiB in one artifact
)

var (
	ErrInvalidID = errors.New("artifact: invalid id")
	ErrNotFound  = errors.New("artifact: not found")
	ErrChanged   = errors.New("artifact: content does not match its digest")
	ErrTooLarge  = errors.New("artifact: too large")
	ErrFull      = errors.New("artifact: store is full")
)

// Artifact describes a kept output.
type Artifact struct {
	ID      string // 20 characters of a-z and 2-7, 100 random bits
	Size    int64  // bytes
	SHA256  [sha256.Size]byte
	Created time.Time
}

// Ref is the reference that a model is given: "artifact:<id>".
func (a Artifact) Ref() string { return Scheme + a.ID }

const idLen = 20

// ParseRef returns the id in "artifact:<id>", [ErrInvalidID] for anything else. Only the exact spelling is taken.
func ParseRef(ref string) (id string, err error) {
	id, ok := strings.CutPrefix(ref, Scheme)
	if !ok || !validID(id) {
		return "", fmt.Errorf("%w: %q is not %q and %d characters of a-z and 2-7", ErrInvalidID, clip(ref), Scheme, idLen)
	}
	return id, nil
}

func validID(id string) bool {
	return len(id) == idLen && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// clip keeps an error readable when the text in it is somebody else's.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// Options limits a store.
type Options struct {
	MaxTotal int64 // bytes of all artifacts; 0 means DefaultMaxTotal
	MaxItem  int64 // bytes of one artifact; 0 means DefaultMaxItem
	Sync     bool  // fsync before an artifact counts as kept; costs milliseconds
}

// Store is a directory of artifacts. Its methods may be called by many goroutines, and several processes may share the
// directory; MaxTotal is exact within a process, others can exceed it by what they are writing at that moment.
//
//	<id>.<sha256>   an artifact: the rename to this name is the moment it exists
//	tmp-<random>    one being written; its writer holds a lock on it, and Open removes those without
type Store struct {
	root *os.Root
	opts Options

	mu      sync.Mutex
	writing map[string]bool // temporary names of ours, which listings by us must not count twice
	pending int64           // bytes written by us and not yet committed
}

const tempPrefix = "tmp-"

// Open opens the store in dir, which is made (0700) if it is missing. A directory that others can enter is closed to them.
func Open(dir string, opts Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("artifact: the directory is not named")
	}
	if opts.MaxTotal <= 0 {
		opts.MaxTotal = DefaultMaxTotal
	}
	if opts.MaxItem <= 0 {
		opts.MaxItem = DefaultMaxItem
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	s := &Store{root: root, opts: opts, writing: map[string]bool{}}
	if err := s.close0700(); err != nil {
		root.Close()
		return nil, err
	}
	s.sweep()
	return s, nil
}

func (s *Store) close0700() error {
	d, err := s.root.Open(".")
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	defer d.Close()
	st, err := d.Stat()
	if err == nil && st.Mode().Perm()&0o077 != 0 {
		err = d.Chmod(0o700)
	}
	if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// Close releases the directory. Readers that are open stay usable.
func (s *Store) Close() error { return s.root.Close() }

// sweep removes what dead writers left.
func (s *Store) sweep() {
	names, _ := s.names()
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		f, err := s.root.OpenFile(name, os.O_RDWR|openNoWait, 0)
		if err != nil {
			continue
		}
		if filelock.Try(f) == filelock.Held {
			s.root.Remove(name)
		}
		f.Close()
	}
}

func (s *Store) names() ([]string, error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return names, nil
}

// parseName splits a file name of an artifact.
func parseName(name string) (id string, sum [sha256.Size]byte, ok bool) {
	id, digest, found := strings.Cut(name, ".")
	if !found || !validID(id) || len(digest) != 2*sha256.Size || strings.ToLower(digest) != digest {
		return "", sum, false
	}
	if _, err := hex.Decode(sum[:], []byte(digest)); err != nil {
		return "", sum, false
	}
	return id, sum, true
}

// find looks an artifact up by its id.
func (s *Store) find(id string) (a Artifact, name string, err error) {
	if !validID(id) {
		return a, "", fmt.Errorf("%w: %q", ErrInvalidID, clip(id))
	}
	names, err := s.names()
	if err != nil {
		return a, "", err
	}
	for _, name := range names {
		if have, sum, ok := parseName(name); ok && have == id {
			st, err := s.root.Lstat(name)
			if errors.Is(err, fs.ErrNotExist) {
				break
			} else if err != nil {
				return a, "", fmt.Errorf("artifact: %w", err)
			}
			if !st.Mode().IsRegular() {
				return a, "", fmt.Errorf("%w: %s%s is not a regular file", ErrChanged, Scheme, id)
			}
			return Artifact{ID: id, Size: st.Size(), SHA256: sum, Created: st.ModTime()}, name, nil
		}
	}
	return a, "", fmt.Errorf("%w: %s%s: it was removed or never existed", ErrNotFound, Scheme, id)
}

// Stat describes an artifact without reading it.
func (s *Store) Stat(id string) (Artifact, error) {
	a, _, err := s.find(id)
	return a, err
}

// Remove deletes an artifact. Readers of it can go on.
func (s *Store) Remove(id string) error {
	_, name, err := s.find(id)
	if err != nil {
		return err
	}
	if err := s.root.Remove(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s%s", ErrNotFound, Scheme, id)
	} else if err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	return nil
}

// List returns all artifacts, oldest first.
func (s *Store) List() ([]Artifact, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var all []Artifact
	for _, name := range names {
		id, sum, ok := parseName(name)
		if !ok {
			continue
		}
		if st, err := s.root.Lstat(name); err == nil && st.Mode().IsRegular() {
			all = append(all, Artifact{ID: id, Size: st.Size(), SHA256: sum, Created: st.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b Artifact) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}
