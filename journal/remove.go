package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

// spans are all places whose rows were removed.
type spans map[int64]int64 // place: of the removal

func (s spans) covers(l link) bool {
	by, ok := s[l.seq]
	return ok && by > l.seq && l.kind != kindRemoval
}

func removedPlaces(ctx context.Context, tx *sql.Tx) (spans, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+removalColumns+` FROM removals ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := spans{}
	for rows.Next() {
		r, err := scanRemoval(rows)
		if err != nil {
			return nil, err
		}
		var list [][2]int64
		if err := json.Unmarshal([]byte(r.places), &list); err != nil {
			continue // its sum will not be right either
		}
		for _, p := range list {
			for place := max(p[0], 1); place <= p[1] && place < r.seq; place++ {
				all[place] = r.seq
			}
		}
	}
	return all, rows.Err()
}

// Remove removes a session with all that it holds: turns, calls, approvals, the
// artifacts of its results. The chain keeps a row for each that says nothing but
// that there was one, and has a new row for the removal, with the reason. It refuses
// while the session is in use ([ErrInUse]), a call of it is open, or other sessions
// depend on it ([ErrForked]).
func (j *Journal) Remove(ctx context.Context, session, reason string) error {
	if _, err := j.Recover(ctx); err != nil {
		return err
	}
	s, err := j.Resume(session)
	if err != nil {
		return err
	}
	var kept []string
	err = j.write.do(true, func(w *writer) (err error) {
		kept, err = w.remove(session, reason, now())
		return err
	})
	if err != nil {
		s.Release()
		return fmt.Errorf("journal: session %s was not removed: %w", session, err)
	}
	j.spool.release(session, nil)
	return errors.Join(j.write.empty(), j.removeArtifacts(kept))
}

func (w *writer) remove(session, reason string, at int64) (artifacts []string, err error) {
	for _, q := range []struct {
		count string
		err   error
	}{
		{`SELECT count(*) FROM sessions WHERE parent = ? AND parent <> ''`, ErrForked},
		{`SELECT count(*) FROM calls WHERE session = ? AND seq IS NULL`, errors.New("calls of it are running")},
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
	if artifacts, err = column[string](w, `SELECT artifact FROM calls WHERE session = ? AND artifact <> ''`, session); err != nil {
		return nil, err
	}
	places, err := column[int64](w, `SELECT seq FROM sessions WHERE id = ?1 UNION ALL SELECT seq FROM calls WHERE session = ?1 UNION ALL SELECT seq FROM turns WHERE session = ?1 UNION ALL SELECT seq FROM approvals WHERE session = ?1 ORDER BY 1`, session)
	if err != nil {
		return nil, err
	}
	for _, t := range []string{`DELETE FROM calls WHERE session = ?`, `DELETE FROM turns WHERE session = ?`, `DELETE FROM approvals WHERE session = ?`, `DELETE FROM sessions WHERE id = ?`} {
		if err := w.exec(t, session); err != nil {
			return nil, err
		}
	}
	r := &removalRow{session: session, reason: reason, places: string(ranges(places)), removed: at}
	return artifacts, w.append(kindRemoval, func(seq int64) (int64, []byte, error) {
		res, err := w.run(`INSERT INTO removals (session, reason, places, removed, seq) VALUES (?, ?, ?, ?, ?)`, r.session, r.reason, r.places, r.removed, seq)
		if err != nil {
			return 0, nil, err
		}
		r.id, err = res.LastInsertId()
		return r.id, r.sum(), err
	})
}

// ranges returns sorted numbers as a JSON list of [first, last].
func ranges(sorted []int64) []byte {
	list := [][2]int64{}
	for _, n := range sorted {
		if k := len(list); k > 0 && list[k-1][1] == n-1 {
			list[k-1][1] = n
		} else {
			list = append(list, [2]int64{n, n})
		}
	}
	b, _ := json.Marshal(list) // numbers
	return b
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

// A Retention says what [Journal.Collect] keeps.
type Retention struct {
	Age   time.Duration // sessions whose newest turn is older go; 0 means that age is no reason
	Count int           // of the newest sessions, the others go; 0 means any number
}

// A Collected is what [Journal.Collect] did with a session, or an artifact that no
// session refers to.
type Collected struct {
	Session  string
	Artifact string
	Err      error // why it was left: in use, forked
}

// Collect removes the sessions that keep does not keep, and the artifacts that are
// older than its age and that no call refers to. It goes on after one that cannot be
// removed. With dry it removes nothing and reports what it would.
func (j *Journal) Collect(ctx context.Context, keep Retention, dry bool) ([]Collected, error) {
	if keep.Age < 0 || keep.Count < 0 || keep == (Retention{}) {
		return nil, errors.New("journal: a retention needs an age or a count, and none below 0")
	}
	var list []SessionInfo
	for info, err := range j.Sessions(ctx) {
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	var done []Collected
	limit := time.Now().Add(-keep.Age)
	// The newest first: what was forked from another is newer than that.
	for i, info := range list {
		if (keep.Age == 0 || !info.Updated.Before(limit)) && (keep.Count == 0 || i < keep.Count) {
			continue
		}
		c := Collected{Session: info.ID}
		switch {
		case !dry:
			c.Err = j.Remove(ctx, info.ID, "retention")
		case info.InUse:
			c.Err = ErrInUse
		}
		done = append(done, c)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
	}
	orphans, err := j.orphans(ctx, limit, keep.Age)
	for _, id := range orphans {
		c := Collected{Artifact: id}
		if !dry {
			c.Err = j.removeArtifacts([]string{id})
		}
		done = append(done, c)
	}
	return done, err
}

// orphans returns the artifacts older than limit that no call refers to.
func (j *Journal) orphans(ctx context.Context, limit time.Time, age time.Duration) (ids []string, err error) {
	if j.opts.Artifacts == nil || age == 0 {
		return nil, nil
	}
	list, err := j.opts.Artifacts.List()
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if !a.Created.Before(limit) {
			break // oldest first
		}
		n := 0
		if err := j.read.QueryRowContext(ctx, `SELECT count(*) FROM calls WHERE artifact = ?1 AND artifact <> ''`, a.ID).Scan(&n); err != nil {
			return ids, fmt.Errorf("journal: %w", err)
		}
		if n == 0 {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}
