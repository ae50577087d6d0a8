package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/filelock"
)

// An owner is an open journal of a living process: a file beside the database
// that is locked for as long as the process has it open. The kernel drops the
// lock when the process dies. The file is there and locked before the first
// claim, so a claim whose owner has no file, or an unlocked one, is a dead one's.
// It is the spool too: what is in it is moved into the database before it is removed.
type owner struct {
	id     string
	file   *os.File
	locked bool // as far as the system says
}

func ownerPath(db, id string) string { return db + "-owner-" + id }

func newOwner(db string) (*owner, error) {
	for range 10 {
		id := randomID()
		f, err := os.OpenFile(ownerPath(db, id), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("the file that says who has it open cannot be made: %w", err)
		}
		// Somebody who cleans up may have been faster than the lock.
		if state := filelock.Try(f); state != filelock.Busy && filelock.Linked(f) {
			return &owner{id, f, state == filelock.Held}, nil
		}
		f.Close()
	}
	return nil, errors.New("the file that says who has it open is taken away as often as it is made")
}

func (o *owner) release() {
	os.Remove(o.file.Name()) // first: what is closed is another's to lock
	o.file.Close()
}

// dead takes over from the owner id if it is known dead: until its file is closed
// nobody else does. file is nil if it has none. Where the system cannot say, an owner
// lives.
func (j *Journal) dead(id string) (file *os.File, dead bool) {
	if id == j.owner.id {
		return nil, false
	}
	f, err := os.OpenFile(ownerPath(j.path, id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err != nil {
		return nil, false
	}
	if filelock.Try(f) != filelock.Held {
		f.Close()
		return nil, false
	}
	return f, true
}

// lives reports whether the owner id is not known dead. It only looks: the file stays as
// it is, for whoever recovers what is in it.
func (j *Journal) lives(id string) bool {
	f, err := os.Open(ownerPath(j.path, id))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return filelock.Look(f) != filelock.Held
}

const (
	openOwners = `SELECT DISTINCT owner FROM calls WHERE seq IS NULL`
	openClaims = `SELECT ` + columns + ` FROM calls WHERE seq IS NULL AND owner = ? ORDER BY id`
)

// Recover settles the calls that dead processes left open as
// [callgate.OutcomeUnknown], and returns how many they were. Calls of living
// processes are left alone. Open calls it; it may be called at any time, by any
// number of processes at once. A journal that was opened to read recovers nothing.
func (j *Journal) Recover(ctx context.Context) (calls int, err error) {
	if j.write == nil {
		return 0, nil
	}
	owners := map[string]bool{}
	rows, err := j.read.QueryContext(ctx, openOwners)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		owners[id] = true
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	// And the files of those who died without an open call.
	prefix := filepath.Base(ownerPath(j.path, ""))
	entries, err := os.ReadDir(filepath.Dir(j.path))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Name(), prefix); ok {
			owners[id] = true
		}
	}
	for id := range owners {
		n, _, err := j.recoverFrom(id)
		if err != nil {
			return calls, err
		}
		calls += n
	}
	return calls, nil
}

// recoverFrom writes the rows that one owner has spooled, and settles its open calls,
// if it is dead.
func (j *Journal) recoverFrom(id string) (calls int, dead bool, err error) {
	if j.write == nil {
		return 0, false, ErrReadOnly
	}
	file, dead := j.dead(id)
	if !dead {
		return 0, false, nil
	}
	defer file.Close() // if there is one
	spooled, err := readSpool(file)
	if err != nil {
		return 0, true, fmt.Errorf("%s: %w", ownerPath(j.path, id), err)
	}
	err = j.write.do(true, func(w *writer) error {
		if err := w.importSpool(id, spooled); err != nil {
			return err
		}
		open, err := w.rows(openClaims, id)
		if err != nil {
			return err
		}
		calls = len(open)
		for _, r := range open {
			if err := j.settleRow(r, callgate.Result{CallID: r.callID, Tool: r.tool, Code: callgate.OutcomeUnknown, State: callgate.Unknown, Message: lost}); err != nil {
				return err
			}
			if err := w.settle(r); err != nil {
				return err
			}
		}
		return w.exec(`UPDATE sessions SET owner = '' WHERE owner = ?`, id)
	})
	if err != nil {
		return 0, true, err // its file stays, for the next one who looks
	}
	if file != nil {
		(&owner{file: file}).release()
	}
	return calls, true, nil
}

// readSpool returns what the file of a dead owner holds.
func readSpool(file *os.File) ([]frame, error) {
	if file == nil {
		return nil, nil
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return frames(data)
}

// importSpool writes what the owner has spooled, as far as it is not there.
func (w *writer) importSpool(owner string, list []frame) error {
	type key struct {
		id      callgate.Identity
		claimed int64
	}
	rows, settled, order := map[key]*row{}, map[key]bool{}, []key(nil)
	for _, f := range list {
		r := f.row
		r.owner = owner
		k := key{r.identity(), r.claimed}
		have := rows[k]
		if have == nil && f.parts&partClaim == 0 { // its claim was moved before
			var err error
			if have, _, err = w.find(&r, true); err != nil {
				return err
			}
			if have == nil || !have.open() {
				continue // it is there, or its session was removed
			}
		}
		if have == nil {
			have = &r
		} else {
			have.settledAs(&r)
		}
		if rows[k] == nil {
			rows[k], order = have, append(order, k)
		}
		settled[k] = settled[k] || f.parts&partSettle != 0
	}
	a, sessions := adder{w: w}, map[string]bool{}
	for _, k := range order {
		if !sessions[k.id.Session] {
			sessions[k.id.Session] = true
			if _, err := a.touch(k.id.Session, k.claimed); err != nil {
				return err
			}
		}
		if err := a.add(rows[k], settled[k]); err != nil {
			return err
		}
	}
	return nil
}

const lost = "the process that ran this call ended before it recorded what came of it; the call may have run: verify its effect before you repeat it"
