package journal

import (
	"context"
	"errors"
	"fmt"
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
type owner struct {
	id   string
	file *os.File
}

func ownerPath(db, id string) string { return db + "-owner-" + id }

func newOwner(db string) (*owner, error) {
	for range 10 {
		id := randomID()
		f, err := os.OpenFile(ownerPath(db, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, fmt.Errorf("the file that says who has it open cannot be made: %w", err)
		}
		// Somebody who cleans up may have been faster than the lock.
		if filelock.Try(f) != filelock.Busy && filelock.Linked(f) {
			return &owner{id, f}, nil
		}
		f.Close()
	}
	return nil, errors.New("the file that says who has it open is taken away as often as it is made")
}

func (o *owner) release() {
	os.Remove(o.file.Name()) // first: what is closed is another's to lock
	o.file.Close()
}

// dead takes over from the owner id if it is known dead, and returns how to let
// go of it. Where the system cannot say, an owner lives.
func (j *Journal) dead(id string) (release func(), dead bool) {
	if id == j.owner.id {
		return nil, false
	}
	f, err := os.OpenFile(ownerPath(j.path, id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, true
	}
	if err != nil {
		return nil, false
	}
	if filelock.Try(f) != filelock.Held {
		f.Close()
		return nil, false
	}
	return (&owner{id, f}).release, true
}

// lives reports whether the owner id is not known dead.
func (j *Journal) lives(id string) bool {
	release, dead := j.dead(id)
	if dead {
		release()
	}
	return !dead
}

const (
	openOwners = `SELECT DISTINCT owner FROM calls WHERE seq IS NULL`
	openClaims = `SELECT ` + columns + ` FROM calls WHERE seq IS NULL AND owner = ? ORDER BY id`
)

// Recover settles the calls that dead processes left open as
// [callgate.OutcomeUnknown], and returns how many they were. Calls of living
// processes are left alone. Open calls it; it may be called at any time, by any
// number of processes at once.
func (j *Journal) Recover(ctx context.Context) (calls int, err error) {
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

// recoverFrom settles the open calls of one owner if it is dead.
func (j *Journal) recoverFrom(owner string) (calls int, dead bool, err error) {
	release, dead := j.dead(owner)
	if !dead {
		return 0, false, nil
	}
	err = j.write.do(true, func(w *writer) error {
		open, err := w.rows(openClaims, owner)
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
		return w.exec(`UPDATE sessions SET owner = '' WHERE owner = ?`, owner)
	})
	if err != nil {
		return 0, true, err // its file stays, for the next one who looks
	}
	release()
	return calls, true, nil
}

const lost = "the process that ran this call ended before it recorded what came of it; the call may have run: verify its effect before you repeat it"
