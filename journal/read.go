package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrReadOnly is what a journal of [OpenToRead] says to whatever has to write it.
var ErrReadOnly = errors.New("the journal was opened to read")

// OpenToRead opens the journal in the file path for who only reads it, and does not
// change it: the file, its log (-wal), the files of owners and their modes stay as they
// are. The file must be there, and have the format that this version writes. What would
// write is an [ErrReadOnly], and no call that has an identity is run.
//
// Nothing is recovered. A call whose process died is open here until the journal is
// opened to write, and an export of its session is refused. What a process has spooled
// and not moved yet is not seen: reads of the last 50 ms or so, and those that a dead
// process left until the journal is opened to write.
//
// SQLite has an index of the log beside the file (-shm) in which readers are noted, and
// makes it, and an empty log, if they are missing; they stay when the journal is closed.
// In a directory where that is not possible the file is read as one that nobody writes,
// if there is no log, or an empty one. Then nobody must begin to write it: [Journal.Head]
// and the other methods say so if somebody has when they are called, but what they read
// while somebody does may be wrong. If there is a log, it is an error: what is in it
// would be missing.
//
// While a reader has the journal open, the last one who writes cannot empty the log when
// it closes; the next who opens it to write does.
func OpenToRead(path string, opts Options) (*Journal, error) {
	return patiently(path, opts, (*Journal).openToRead)
}

func (j *Journal) openToRead() (err error) {
	// The file is not opened here: to close it would take the locks from whoever else in
	// this process has it open, since those of POSIX belong to the process.
	st, err := os.Stat(j.path)
	if err == nil {
		err = regular(st)
	}
	if err == nil {
		j.path, err = filepath.EvalSymlinks(j.path) // by which its owners know of each other
	}
	if err != nil {
		return plain(err)
	}
	if err := oneName(j.path); err != nil {
		return err
	}
	j.owner = &owner{} // nobody: without a file
	j.spool = newSpool(j.owner)
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	logged, err := j.logged()
	if err != nil {
		return err
	}
	if err = j.connect("&mode=ro"); unmakeable(err) {
		if logged {
			return fmt.Errorf("its log (-wal) cannot be read, because the index of it (-shm) cannot be made: copy the file and its log to where you can write, and read them there: %w", err)
		}
		j.immutable = true
		if err = j.connect("&mode=ro&immutable=1"); err == nil {
			err = j.unchanged()
		} else if unmakeable(err) {
			err = fmt.Errorf("it cannot be opened for reading: %w", err)
		}
	}
	if err != nil {
		return err
	}
	j.latestStmt, err = j.read.Prepare(latest)
	return err
}

// connect opens the file as the parameters say, and sees to it that it is a journal.
func (j *Journal) connect(params string) (err error) {
	if j.read != nil {
		j.read.Close()
	}
	if j.read, err = readers(dsn(j.path, j.opts.BusyTimeout, "query_only(1)") + params); err != nil {
		return err
	}
	ctx := context.Background()
	tx, err := j.read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := format(ctx, tx)
	switch {
	case err != nil:
		return err
	case version == 0:
		return errors.New("it is empty: nothing was recorded in it yet")
	case version != len(migrations):
		return fmt.Errorf("it has format %d, and what only reads knows format %d; it is brought to that when it is opened to write", version, len(migrations))
	}
	return nil
}

// unmakeable reports whether err may say that SQLite cannot make the log, or the index
// of it.
func unmakeable(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CANTOPEN || e.Code()&0xff == sqlite3.SQLITE_READONLY)
}

// logged reports whether there is a log with anything in it.
func (j *Journal) logged() (bool, error) {
	st, err := os.Stat(j.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = regular(st)
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(j.path + "-wal"); err == nil { // SQLite has no locks on this one
			f.Close()
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("its log (-wal), without which the newest rows are missing, cannot be read: %w", plain(err))
	}
	return st.Size() > 0, nil
}

// unchanged is an error if somebody writes the file of which SQLite was told that nobody
// does.
func (j *Journal) unchanged() error {
	if !j.immutable {
		return nil
	}
	if logged, err := j.logged(); err != nil {
		return err
	} else if logged {
		return errors.New("somebody has begun to write the file, and what is read may be wrong; open it again")
	}
	return nil
}

// plain leaves out the path, which is said elsewhere.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
