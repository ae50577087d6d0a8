package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/callgate/callgate/artifact"
)

// A removalRow says which rows of the chain were removed with a session.
type removalRow struct {
	id, seq int64
	session string
	reason  string
	places  string // JSON: [[first, last], …]
	removed int64
}

const removalColumns = `id, session, reason, places, removed, seq`

func scanRemoval(s scanner) (*removalRow, error) {
	r := new(removalRow)
	err := s.Scan(&r.id, &r.session, &r.reason, &r.places, &r.removed, &r.seq)
	return r, err
}

func (r *removalRow) sum() []byte {
	s := newSum(kindRemoval)
	s.numbers(r.id)
	s.texts(r.session, r.reason, r.places)
	s.numbers(r.removed)
	return s.done()
}

func (r *removalRow) what() string { return "removal of session " + r.session }

// spans are the places whose rows were removed, as [first, last] in their order, with
// gaps between them.
type spans [][2]int64

// covers reports whether the row that l covers is gone by right. No removal takes
// another removal away.
func (s spans) covers(l link) bool {
	i, _ := slices.BinarySearchFunc(s, l.seq, func(p [2]int64, place int64) int { return cmp.Compare(p[1], place) })
	return i < len(s) && s[i][0] <= l.seq && l.kind != kindRemoval
}

// removedPlaces returns what all removals name. A place that comes after the removal
// that names it cannot have been removed by it, and does not count.
func removedPlaces(ctx context.Context, tx *sql.Tx) (spans, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+removalColumns+` FROM removals ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all spans
	for rows.Next() {
		r, err := scanRemoval(rows)
		if err != nil {
			return nil, err
		}
		var list spans
		if err := json.Unmarshal([]byte(r.places), &list); err != nil {
			continue // its sum will not be right either
		}
		for _, p := range list {
			if p[1] = min(p[1], r.seq-1); p[0] <= p[1] {
				all = append(all, p)
			}
		}
	}
	return all.joined(), rows.Err()
}

// joined returns the same places in their order, those that touch as one.
func (s spans) joined() spans {
	slices.SortFunc(s, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var all spans
	for _, p := range s {
		if k := len(all); k > 0 && p[0] <= all[k-1][1]+1 {
			all[k-1][1] = max(all[k-1][1], p[1])
		} else {
			all = append(all, p)
		}
	}
	return all
}

// ErrBytesRemain says that a session was removed, and the chain says so, but that
// some of what it held is still on the disk: in the log beside the file, until the
// next removal or until all who have it open close it; or in an artifact that could
// not be deleted, until [Journal.Collect] can.
var ErrBytesRemain = errors.New("it was removed, but some of what it held is still on the disk")

// errRunning is why a session stays.
var errRunning = errors.New("calls of it are running")

// Remove removes a session with all that it holds: turns, calls, approvals, and the
// artifacts of its results that no other call names. The chain keeps a row for each
// that says nothing but that there was one, and has a new row for the removal, with
// the reason. It refuses while the session is in use ([ErrInUse]), a call of it is
// open, or other sessions depend on it ([ErrForked]).
//
// What is removed is overwritten in the file, and the log beside it is emptied. While
// somebody reads the file that is not possible: it is tried for Options.BusyTimeout,
// then the error is an [ErrBytesRemain].
func (j *Journal) Remove(ctx context.Context, session, reason string) error {
	artifacts, err := j.remove(ctx, session, reason)
	if err != nil {
		return err
	}
	return remain(j.flush(), j.write.empty(ctx, j.opts.BusyTimeout), j.removeArtifacts(artifacts))
}

// remain makes an [ErrBytesRemain] of the errors that are not nil.
func remain(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("journal: %w: %w", ErrBytesRemain, err)
	}
	return nil
}

// remove removes the rows of a session, and returns the artifacts that nothing names
// any more.
func (j *Journal) remove(ctx context.Context, session, reason string) (artifacts []string, err error) {
	if _, err := j.Recover(ctx); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s, err := j.Resume(session)
	if err != nil {
		return nil, err
	}
	err = j.write.do(true, func(w *writer) (err error) {
		artifacts, err = w.remove(session, reason, now())
		return err
	})
	if err != nil {
		return nil, errors.Join(notRemoved(session, err), s.Release())
	}
	j.spool.release(session, nil)
	return artifacts, nil
}

func notRemoved(session string, err error) error {
	return fmt.Errorf("journal: session %s was not removed: %w", session, err)
}

// onlyHere are the artifacts that calls of one session name, and those of no other.
const onlyHere = `SELECT DISTINCT artifact FROM calls c WHERE session = ? AND artifact <> ''
	AND NOT EXISTS (SELECT 1 FROM calls WHERE artifact = c.artifact AND artifact <> '' AND session <> c.session)`

// places are those of the rows that a session has in the chain.
const places = `SELECT seq FROM sessions WHERE id = ?1 UNION ALL SELECT seq FROM calls WHERE session = ?1
	UNION ALL SELECT seq FROM turns WHERE session = ?1 UNION ALL SELECT seq FROM approvals WHERE session = ?1`

func (w *writer) remove(session, reason string, at int64) (artifacts []string, err error) {
	for _, q := range []struct {
		count string
		err   error
	}{
		{`SELECT count(*) FROM sessions WHERE parent = ? AND parent <> ''`, ErrForked},
		{`SELECT count(*) FROM calls WHERE session = ? AND seq IS NULL`, errRunning},
	} {
		s, err := w.stmt(q.count)
		if err != nil {
			return nil, err
		}
		n := 0
		if err := s.QueryRow(session).Scan(&n); err != nil {
			return nil, err
		}
		if n > 0 {
			return nil, q.err
		}
	}
	if artifacts, err = column[string](w, onlyHere, session); err != nil {
		return nil, err
	}
	list, err := column[int64](w, places, session)
	if err != nil {
		return nil, err
	}
	for _, t := range []string{`DELETE FROM calls WHERE session = ?`, `DELETE FROM turns WHERE session = ?`, `DELETE FROM approvals WHERE session = ?`, `DELETE FROM sessions WHERE id = ?`} {
		if err := w.exec(t, session); err != nil {
			return nil, err
		}
	}
	gone := spans{}
	for _, place := range list {
		gone = append(gone, [2]int64{place, place})
	}
	b, err := json.Marshal(gone.joined())
	if err != nil {
		return nil, err
	}
	r := &removalRow{session: session, reason: reason, places: string(b), removed: at}
	return artifacts, w.append(kindRemoval, func(seq int64) (int64, []byte, error) {
		res, err := w.run(`INSERT INTO removals (session, reason, places, removed, seq) VALUES (?, ?, ?, ?, ?)`, r.session, r.reason, r.places, r.removed, seq)
		if err != nil {
			return 0, nil, err
		}
		r.id, err = res.LastInsertId()
		return r.id, r.sum(), err
	})
}

// column returns the one column of a query, within the transaction.
func column[T any](w *writer, query string, args ...any) (list []T, err error) {
	s, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

func (j *Journal) removeArtifacts(ids []string) error {
	if j.opts.Artifacts == nil {
		return nil
	}
	var errs []error
	for _, id := range ids {
		if err := j.opts.Artifacts.Remove(id); err != nil && !errors.Is(err, artifact.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
