package journal

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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
	Err      error // why it was left: in use, forked, a call that runs; or nil
}

// Collect removes the sessions that keep does not keep, and the artifacts that are
// older than its age (and than 2 seconds) and that no call refers to. It goes on after one that cannot be
// removed: a session that is in use, that has a call which runs, or from which one was
// forked that stays. With dry it removes nothing and reports what it would. If the
// error is an [ErrBytesRemain], that is all that went wrong.
func (j *Journal) Collect(ctx context.Context, keep Retention, dry bool) ([]Collected, error) {
	if keep.Age < 0 || keep.Count < 0 || keep == (Retention{}) {
		return nil, errors.New("journal: a retention needs an age or a count, and none below 0")
	}
	if j.write == nil && !dry {
		return nil, fmt.Errorf("journal: %w", ErrReadOnly)
	}
	if _, err := j.Recover(ctx); err != nil { // the dead have no open calls
		return nil, fmt.Errorf("journal: %w", err)
	}
	limit := time.Now().Add(-keep.Age)
	var going []SessionInfo
	forks := map[string]int{} // how many were forked from it
	n := 0
	for info, err := range j.Sessions(ctx) { // the newest first
		if err != nil {
			return nil, err
		}
		forks[info.Parent]++
		if keep.Age > 0 && info.Updated.Before(limit) || keep.Count > 0 && n >= keep.Count {
			going = append(going, info)
		}
		n++
	}
	var artifacts []string
	removed := false
	done, err := inOrder(ctx, going, forks, func(info SessionInfo) error {
		switch {
		case dry && info.InUse:
			return fmt.Errorf("journal: %w", &heldError{session: info.ID})
		case dry && info.Open > 0:
			return notRemoved(info.ID, errRunning)
		case dry:
			return nil
		}
		ids, err := j.remove(ctx, info.ID, "retention")
		artifacts, removed = append(artifacts, ids...), removed || err == nil
		return err
	})
	var left error
	if removed { // once for all, and even if ctx has ended
		left = remain(j.flush(), j.write.empty(context.WithoutCancel(ctx), j.opts.BusyTimeout), j.removeArtifacts(artifacts))
	}
	var orphans []string
	if err == nil {
		orphans, err = j.orphans(ctx, limit, keep.Age)
	}
	for _, id := range orphans {
		c := Collected{Artifact: id}
		if !dry {
			c.Err = j.removeArtifacts([]string{id})
		}
		done = append(done, c)
	}
	if err != nil && left != nil {
		return done, fmt.Errorf("%w; %v", err, left)
	}
	return done, errors.Join(err, left)
}

// inOrder hands each session to remove when all that were forked from it are gone,
// and returns what came of it. forks says how many those are; the ones that are left
// with some stay.
func inOrder(ctx context.Context, going []SessionInfo, forks map[string]int, remove func(SessionInfo) error) (done []Collected, err error) {
	for len(going) > 0 {
		var waiting []SessionInfo
		for _, info := range going {
			if forks[info.ID] > 0 {
				waiting = append(waiting, info)
				continue
			}
			if ctx.Err() != nil {
				return done, ctx.Err()
			}
			c := Collected{Session: info.ID, Err: remove(info)}
			if c.Err == nil {
				forks[info.Parent]--
			}
			done = append(done, c)
		}
		if len(waiting) == len(going) {
			for _, info := range waiting {
				done = append(done, Collected{Session: info.ID, Err: notRemoved(info.ID, ErrForked)})
			}
			return done, nil
		}
		going = waiting
	}
	return done, nil
}

// settling is how old an artifact must be before it can be an orphan. Within that the
// claim of its call reaches the database, even one that is spooled elsewhere; and file
// systems do not tell the time much better.
const settling = 2 * time.Second

const oldestClaim = `SELECT coalesce(min(claimed), ?) FROM calls INDEXED BY calls_open WHERE seq IS NULL`

// orphans returns the artifacts older than limit that no call refers to, nor can: one
// that was made while a call ran which still does may be named when that is settled.
func (j *Journal) orphans(ctx context.Context, limit time.Time, age time.Duration) (ids []string, err error) {
	if j.opts.Artifacts == nil || age == 0 {
		return nil, nil
	}
	list, err := j.opts.Artifacts.List()
	if err != nil {
		return nil, err
	}
	// Before the rows are looked at: a call that is settled in between has one.
	var claimed int64
	if err := j.read.QueryRowContext(ctx, oldestClaim, now()).Scan(&claimed); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if first := time.UnixMicro(claimed).Add(-settling); first.Before(limit) {
		limit = first
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
