// Package journal keeps what became of every call in one SQLite file, so that a crash, a cancel or a lost process neither
// repeats an effect nor forgets one. It is a [callgate.Executor] around another: claim, run, settle.
//
// # What it promises
//
// A call that changes something is claimed on disk before its handler starts, and its result is on disk before anybody is
// told of it. Its identity (session, turn, index) is the key: submitted again with the same bytes it is answered from the
// record, with other bytes it is refused, from whichever process. A call whose process died is settled as
// [callgate.OutcomeUnknown]: one that must run once is never run again, others may be. A journal that cannot be written
// stops calls before they start. Settled rows are never changed: one that runs again has a new row, and each row's hash
// covers the hash before it.
//
// Read-only calls are written too, but not synced: they survive the process, and a power cut takes only the newest of them,
// since the next synced commit syncs everything before it. In a session that this process holds ([Journal.Begin]) they do not
// wait for SQLite either: claim and result are appended to a file of the process, the spool, before the handler starts and
// before the answer, and are moved into the database some 50 ms later, many at once. Whatever this Journal is asked takes
// them into account; other processes see them when they are moved, or when they take over from this one after its death. If
// they cannot be moved, no further read starts. A row's place in the chain is that of its move.
//
// # What it does not
//
// Anonymous calls, which have no identity, pass through and leave no row. The disk must keep what fsync returned for.
// Whoever can write the file can make a new chain from any row on; a [Head] kept elsewhere exposes that, and the removal of
// the newest rows. Rows of calls that still run are not in the chain yet. Whether a process is alive is asked of the kernel
// (flock), so all processes must run on one machine; where there is no flock (Windows), the open claims of a dead process
// stay open, and are answered with [callgate.OutcomeUnknown] after a wait. Arguments and results are stored as they are,
// readable by the file's owner only.
package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite" // and its driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
)

// Options are the settings of a journal. The zero value is ready to use.
type Options struct {
	// BusyTimeout is how long a write waits for another process that writes.
	// 0 means 5 seconds.
	BusyTimeout time.Duration
	// Wait is how long a submission waits for the same call that runs in
	// another process before it is answered with [callgate.OutcomeUnknown].
	// 0 means the time limit of the call.
	Wait time.Duration
	// Artifacts is where the outputs are kept that were too long to show; their
	// digests are recorded, and they are removed with their session. Nil means
	// that there is no such place.
	Artifacts *artifact.Store
	// Redact are patterns of what must not be stored: each match in arguments,
	// results, turns, titles, reasons and what approvers say is replaced by
	// REDACTED; in JSON each string is looked at by itself, unescaped, and numbers
	// are not. The digests are those of what was
	// there before, so that a repetition is still known; a result that is answered
	// from the record is the redacted one. Artifacts are not redacted.
	Redact []*regexp.Regexp
	// Sandbox is the level that programs run at, for the record.
	Sandbox string
	// OnHead, if set, is told of each new head when it is on disk. It is called by
	// one goroutine at a time, before whoever waits for the write goes on, and must
	// not use the journal itself. Rows that wait for no disk have their head
	// told with that of the next one that does.
	OnHead func(Head)
}

// ErrClosed is what a closed journal says.
var ErrClosed = errors.New("journal: closed")

// A Journal is an open file. It is safe for concurrent use, and several
// processes may have the same file open.
type Journal struct {
	path  string
	opts  Options
	owner *owner
	spool *spool
	write *writer // nil if it was opened to read
	read  *sql.DB

	immutable bool // SQLite was told that nobody writes the file

	latestStmt *sql.Stmt // of read

	mu          sync.Mutex
	running     map[callgate.Identity]*flight
	overstaying map[callgate.Identity]int // answered, but the handler has not returned
	specs       map[*callgate.Spec]specFacts
}

// A flight is a call that runs in this process.
type flight struct {
	digest [32]byte
	done   chan struct{} // closed when the call is settled
}

// Open opens the journal in the file path, which is made (0600) if it is missing;
// its directory must exist. A file that others can read is closed to them. Calls
// that a dead process left open are settled before it returns. SQLite keeps two
// more files beside it (-wal, -shm), and each process that has it open one more
// (-owner-…).
func Open(path string, opts Options) (*Journal, error) {
	return patiently(path, opts, (*Journal).open)
}

// patiently makes a journal of the file by open.
func patiently(path string, opts Options, open func(*Journal) error) (*Journal, error) {
	opts.BusyTimeout = opts.busyTimeout()
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	for end := time.Now().Add(opts.BusyTimeout); ; time.Sleep(5 * time.Millisecond) {
		j := &Journal{
			path: abs, opts: opts,
			running: map[callgate.Identity]*flight{}, overstaying: map[callgate.Identity]int{},
			specs: map[*callgate.Spec]specFacts{},
		}
		err := open(j)
		if err == nil {
			return j, nil
		}
		// SQLite does not wait where two who wait for each other could be the reason:
		// one opens the file while the last one who had it open closes it.
		if !busy(err) || !time.Now().Before(end) {
			return nil, fmt.Errorf("journal %s: %w", path, err)
		}
	}
}

func (j *Journal) open() (err error) {
	path, opts := j.path, j.opts
	if err := private(path); err != nil {
		return err
	}
	// One file has one name, by which its owners know of each other.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	if err := oneName(path); err != nil {
		return err
	}
	j.path = path
	defer func() {
		if err != nil {
			j.Close()
		}
	}()
	if j.write, err = openWriter(dsn(path, opts.BusyTimeout, "journal_mode(WAL)", "secure_delete(1)")); err != nil {
		return err
	}
	j.write.onHead = opts.OnHead
	if j.read, err = readers(dsn(path, opts.BusyTimeout, "query_only(1)")); err != nil {
		return err
	}
	if j.latestStmt, err = j.read.Prepare(latest); err != nil {
		return err
	}
	if j.owner, err = newOwner(path); err != nil {
		return err
	}
	j.spool = newSpool(j.owner)
	j.write.spool = j.spool
	go j.mover()
	_, err = j.Recover(context.Background())
	return err
}

func readers(dsn string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err == nil {
		db.SetMaxOpenConns(4)
		db.SetMaxIdleConns(4)
	}
	return db, err
}

func (o Options) busyTimeout() time.Duration {
	if o.BusyTimeout <= 0 {
		return 5 * time.Second
	}
	return o.BusyTimeout
}

// busy reports whether err says that somebody else has a lock.
func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// private makes the file if it is missing, and sees to it that it is a file which
// its owner alone can read. A file that is there is not opened: to close it again
// would take this process's locks (POSIX) from who has it open here already.
func private(path string) error {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, fs.ErrExist) { // another was faster, or it is a link to nothing
			return fmt.Errorf("it cannot be made: %w", reason(err))
		}
		if st, err = os.Stat(path); err != nil {
			return reason(err)
		}
	} else if err != nil {
		return reason(err)
	}
	if err := regular(st); err != nil {
		return err
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return fmt.Errorf("others can read it, and that cannot be changed: %w", reason(err))
		}
	}
	return nil
}

// reason returns err without the path, which stands before it already.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

func regular(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return errors.New("it is a directory, not a file")
	case !st.Mode().IsRegular():
		return errors.New("it is not a regular file") // and opening it might block
	}
	return nil
}

// dsn returns the driver's name for the file, which may hold any character.
func dsn(path string, busy time.Duration, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}, pragmas...),
	}.Encode()}
	return u.String()
}

// Close moves what was spooled into the file and closes it. Calls that are running
// then can no longer be settled: it is for after the last Dispatch has returned. If
// it says that reads are left, they are kept beside the file for the next Open. It
// may be called twice.
func (j *Journal) Close() error {
	var errs []error
	moved := true // all that was spooled
	if j.spool != nil && j.write != nil {
		if err := j.closeSpool(); err != nil {
			errs, moved = append(errs, fmt.Errorf("journal: reads are left for the next Open to record: %w", err)), false
		}
	}
	if j.read != nil {
		errs = append(errs, j.read.Close())
	}
	if j.write != nil {
		errs = append(errs, j.write.close())
	}
	switch {
	case j.owner == nil || j.owner.file == nil:
	case moved:
		j.owner.release()
	default:
		j.owner.file.Close()
	}
	return errors.Join(errs...)
}

func randomID() string { return strings.ToLower(rand.Text()) }
