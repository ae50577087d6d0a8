package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// DefaultReadLimit is the most that ReadFile returns when its limit is 0: 64 MiB.
const DefaultReadLimit = 64 << 20

// Open opens a regular file for reading. Directories ([ErrIsDir]), pipes, devices and sockets ([ErrNotRegular]) are refused
// at once: the name is looked at before it is opened, opening never waits, and what was opened is looked at again.
func (w *Workspace) Open(name string) (*os.File, error) {
	rel, err := w.rel("read", name)
	if err != nil {
		return nil, err
	}
	// os.Root follows relative links itself, with fewer steps than follow; only an absolute one needs it.
	f, err := w.openRegular(rel, os.O_RDONLY)
	if _, refused := err.(*Error); err != nil && !refused {
		real, followErr := w.follow(rel)
		if followErr != nil {
			return nil, describe("read", name, followErr)
		}
		if real != rel {
			f, err = w.openRegular(real, os.O_RDONLY)
		}
	}
	return f, describe("read", name, named(err, "read", name))
}

// ReadFile returns the whole content of a regular file of at most limit bytes (0 means [DefaultReadLimit]); a larger one is
// [ErrTooLarge] and nothing is returned. Use [Workspace.Open] to read in parts.
func (w *Workspace) ReadFile(name string, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = DefaultReadLimit
	}
	f, err := w.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := &Error{Op: "read", Path: name, Err: ErrTooLarge,
		Reason: fmt.Sprintf("the file is larger than %d bytes", limit), Fix: "read a part of it"}
	// What says that it is too large is not read. What does not say so may grow, and some file systems report 0.
	if st, err := f.Stat(); err == nil && st.Size() > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, describe("read", name, err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, nil
}

// Stat describes what name leads to, links followed. The name in the result is that of the file, not of the link.
func (w *Workspace) Stat(name string) (fs.FileInfo, error) {
	real, err := w.locate("read", name)
	if err != nil {
		return nil, err
	}
	st, err := w.root.Lstat(real)
	return st, describe("read", name, err)
}

// ReadDir lists a directory by name, links shown and not followed. The Info method of its entries must not be used: it
// looks at the path anew, outside the protection of this package. Use [Workspace.Stat].
func (w *Workspace) ReadDir(name string) ([]fs.DirEntry, error) {
	real, err := w.locate("list", name)
	if err != nil {
		return nil, err
	}
	entries, err := readDir(w.root, real)
	return entries, describe("list", name, err)
}

// openRegular opens a name of the root without ever waiting for the other end of a pipe.
func (w *Workspace) openRegular(real string, flag int) (*os.File, error) {
	st, err := w.root.Stat(real)
	if err != nil {
		return nil, err
	}
	if err := mustBeRegular(st); err != nil { // opening a device can have effects, so it is not opened to find out
		return nil, err
	}
	f, err := w.root.OpenFile(real, flag|openNoWait, 0)
	if err != nil {
		return nil, err
	}
	st, err = f.Stat()
	if err == nil {
		err = mustBeRegular(st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func mustBeRegular(st fs.FileInfo) error {
	m := st.Mode()
	switch {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return &Error{Reason: "it is a directory", Fix: "name a file in it", Err: ErrIsDir}
	}
	what := "a special file"
	switch {
	case m&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	case m&fs.ModeDevice != 0:
		what = "a device"
	case m&fs.ModeSymlink != 0:
		what = "a link that changed while it was used"
	}
	return &Error{Reason: "it is " + what + ", not a regular file", Fix: "name a regular file", Err: ErrNotRegular}
}

// named fills in the operation and the path of an Error made where neither was known.
func named(err error, op, name string) error {
	if e, ok := err.(*Error); ok && e.Op == "" {
		e.Op, e.Path = op, name
	}
	return err
}
