package workspace

import (
	"errors"
	"io/fs"
	"strconv"
	"syscall"
)

// The kinds of refusal. Match them with errors.Is; a missing file is fs.ErrNotExist and a denied one fs.ErrPermission.
var (
	ErrInvalidPath = errors.New("invalid path")
	ErrEscape      = errors.New("path leaves the workspace")
	ErrNotRegular  = errors.New("not a regular file")
	ErrIsDir       = errors.New("is a directory")
	ErrNotDir      = errors.New("not a directory")
	ErrTooLarge    = errors.New("file too large")
	ErrLinkLoop    = errors.New("too many links")
	ErrReadOnly    = errors.New("file is read-only")
	ErrConflict    = errors.New("file changed since it was read")
	ErrRoot        = errors.New("unfit workspace directory")
)

// Error is a refusal in words for the model: the path as it wrote it, the reason, and what to do next. Err is one of the
// kinds above or of io/fs, Cause what the operating system said, for the operator's log.
type Error struct {
	Op     string // read, write, list, resolve, open
	Path   string // as written, not as resolved
	Reason string
	Fix    string
	Err    error
	Cause  error // may be nil
}

func (e *Error) Error() string {
	s := e.Op + " " + strconv.Quote(e.Path) + ": " + e.Reason
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// Unwrap gives both the kind and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// describe turns what the operating system said about name into an Error. An error that is one already passes unchanged.
func describe(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	e := &Error{Op: op, Path: name, Cause: err}
	switch {
	case escaped(err):
		e.Err, e.Reason, e.Fix = ErrEscape, "the path leads outside the workspace", "use a path inside it"
	case errors.Is(err, syscall.ENOTDIR):
		e.Err, e.Reason, e.Fix = ErrNotDir, "the path, or a part of it, is not a directory", "check which part is a file"
	case errors.Is(err, fs.ErrNotExist):
		e.Err, e.Reason, e.Fix = fs.ErrNotExist, "no such file or directory", "check the spelling or list the directory"
	case errors.Is(err, fs.ErrPermission):
		e.Err, e.Reason, e.Fix = fs.ErrPermission, "the operating system denies access", "ask the user to change the file's permissions, or use another file"
	case errors.Is(err, syscall.ELOOP):
		e.Err, e.Reason, e.Fix = ErrLinkLoop, "its symbolic links lead in a circle or are too many", "name the real file"
	case errors.Is(err, syscall.EISDIR):
		e.Err, e.Reason, e.Fix = ErrIsDir, "it is a directory", "name a file in it"
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Err, e.Reason, e.Fix = ErrInvalidPath, "the name is too long for the file system", "use a shorter name"
	default:
		e.Err, e.Reason = innermost(err), innermost(err).Error()
	}
	return e
}

// escaped recognizes the refusal of os.Root. Its error value is not exported, only its text tells (Go 1.24 to 1.26). The
// answer chooses words; confinement does not depend on it.
func escaped(err error) bool { return innermost(err).Error() == "path escapes from parent" }

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
