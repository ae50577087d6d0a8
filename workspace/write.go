package workspace

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/filelock"
)

// WriteOptions says under which condition a file may be replaced. The zero value sets none.
type WriteOptions struct {
	// IfDigest is the SHA-256 that the present content must have, else the write is an [ErrConflict]. Zero means no condition.
	IfDigest [sha256.Size]byte
	// IfAbsent asks that there be no file yet, else the write is an [ErrConflict].
	IfAbsent bool
}

// commit makes condition and rename one step for all writers of this process, whichever Workspace they use.
var commit sync.Mutex

// WriteFile replaces the content of name, or creates it with missing parents. It is atomic and durable: a temporary file in
// the same directory is written, synced and renamed, then the directory is synced.
//
// An existing file keeps its permissions (not set-user-ID, set-group-ID or sticky bits) and, where allowed, its owner;
// extended attributes are not kept. A new one gets 0644 less the umask. If name is a link, the link stays and its target
// inside the workspace is replaced. If the file has other hard links, this name gets the new content and the others keep the
// old one: writing through them could reach outside. A file without its owner's write permission is refused ([ErrReadOnly]),
// though a rename could replace it.
//
// The condition of opts is checked just before the rename. IfAbsent is exact. IfDigest is exact among writers that go
// through a Workspace, in any process where there is flock; another program that writes in the last microseconds can be
// missed.
func (w *Workspace) WriteFile(name string, data []byte, opts WriteOptions) error {
	const op = "write"
	real, err := w.locate(op, name)
	if err != nil {
		return err
	}
	if real == "." || strings.HasSuffix(filepath.ToSlash(name), "/") {
		return &Error{Op: op, Path: name, Reason: "the path names a directory", Fix: "name a file in it", Err: ErrIsDir}
	}
	return describe(op, name, named(w.replace(real, data, opts), op, name))
}

func (w *Workspace) replace(real string, data []byte, opts WriteOptions) error {
	old, err := w.root.Lstat(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	exists := err == nil
	if exists {
		if err := mustBeRegular(old); err != nil {
			return err
		}
		if old.Mode()&0o200 == 0 {
			return &Error{Reason: "the file is read-only", Fix: "ask the user to make it writable, or write another file", Err: ErrReadOnly}
		}
	}
	dir := path.Dir(real)
	if !exists {
		if opts.IfDigest != ([sha256.Size]byte{}) {
			return errRemoved(err)
		}
		if err := w.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	p := w.begin(dir)
	defer p.end()
	temp := p.tempName()
	perm := fs.FileMode(0o644)
	if exists {
		perm = 0o600 // until owner and permissions are known to fit together
	}
	f, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer w.root.Remove(temp) // nothing to remove after the rename
	_, err = f.Write(data)
	if err == nil && exists {
		err = f.Chmod(keepOwner(f, old)) // on the open file: no name to race for, no umask
	}
	if err == nil {
		err = f.Sync()
	}
	if c := f.Close(); err == nil {
		err = c
	}
	if err != nil {
		return err
	}
	if err := w.commit(temp, real, opts); err != nil {
		return err
	}
	w.syncDir(dir)
	if !exists { // its directories may be new as well
		for dir != "." {
			dir = path.Dir(dir)
			w.syncDir(dir)
		}
	}
	return nil
}

func (w *Workspace) commit(temp, real string, opts WriteOptions) error {
	commit.Lock()
	defer commit.Unlock()
	if opts.IfAbsent {
		// A hard link fails if the name is taken, a rename would not.
		err := w.root.Link(temp, real)
		if err == nil {
			return nil // the temporary name is removed by the caller
		}
		if _, e := w.root.Lstat(real); e == nil {
			return &Error{Reason: "the file exists already", Fix: "read it first, then change it", Err: ErrConflict}
		}
		// The file system has no hard links.
	}
	if opts.IfDigest != ([sha256.Size]byte{}) {
		defer w.lockDir(path.Dir(real))()
		now, err := w.digest(real)
		if errors.Is(err, fs.ErrNotExist) {
			return errRemoved(err)
		} else if err != nil {
			return err
		}
		if now != opts.IfDigest {
			return &Error{Reason: "the file changed since it was read", Fix: "read it again and redo the change on what is there now", Err: ErrConflict}
		}
	}
	return w.root.Rename(temp, real)
}

// lockDir keeps writers in other processes from the directory for the moment between a look at a file and its rename. One
// that somebody else keeps locked is not waited for beyond two seconds: then the condition holds among ours only.
func (w *Workspace) lockDir(dir string) (unlock func()) {
	d, err := w.root.Open(dir)
	if err != nil {
		return func() {} // the rename will say why
	}
	for end := time.Now().Add(2 * time.Second); filelock.Try(d) == filelock.Busy && time.Now().Before(end); {
		time.Sleep(200 * time.Microsecond)
	}
	return func() { d.Close() }
}

func errRemoved(cause error) error {
	return &Error{Reason: "the file was removed since it was read", Fix: "check what happened to it, then create it anew", Err: ErrConflict, Cause: cause}
}

func (w *Workspace) digest(real string) (sum [sha256.Size]byte, err error) {
	f, err := w.openRegular(real, os.O_RDONLY)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	h.Sum(sum[:0])
	return sum, nil
}

// syncDir makes a rename durable. Some platforms cannot sync a directory, and the content is whole either way.
func (w *Workspace) syncDir(dir string) {
	if d, err := w.root.Open(asDir(dir)); err == nil {
		d.Sync()
		d.Close()
	}
}
