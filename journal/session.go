package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"
	"time"
)

// About is what a session is, for people and for who continues it.
type About struct {
	Workspace string // its directory, "" if it has none
	Title     string // one line
	// Parent is the session that this one was forked from, and ParentTurn the
	// last turn of it that they share. "" means none.
	Parent     string
	ParentTurn int
}

// A SessionInfo describes a session.
type SessionInfo struct {
	ID string
	About
	InUse   bool // a living process holds it
	Created time.Time
	Updated time.Time // when its newest turn began
	Turns   int64
	Calls   int64 // runs of calls, open ones included
	Open    int64 // calls that are not settled
}

// A Session is a session that this process alone adds to. It is safe for
// concurrent use.
type Session struct {
	j        *Journal
	id       string
	released atomic.Bool
}

// What [Journal.Begin] and [Journal.Remove] may say.
var (
	ErrInUse     = errors.New("the session is in use by another process")
	ErrNoSession = errors.New("there is no such session")
	ErrForked    = errors.New("other sessions were forked from it")
)

// Begin holds the session id, which is made as about says if it is missing, for
// this process until Release or Close; while another living process holds it, or
// this one already, it is [ErrInUse]. Meanwhile nobody else can add a call to it. A
// session that nobody holds takes calls from every process.
func (j *Journal) Begin(id string, about About) (*Session, error) {
	if id == "" {
		return nil, errors.New("journal: a session needs a name")
	}
	err := j.hold(id, func(w *writer, at int64) error {
		if about.Parent != "" {
			if known, err := w.exists(about.Parent); err != nil {
				return err
			} else if !known {
				return fmt.Errorf("session %s, which it is forked from: %w", about.Parent, ErrNoSession)
			}
		}
		about.Title = j.redactText(about.Title)
		return w.create(id, about, at)
	})
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Session{j: j, id: id}, nil
}

// Resume holds a session that exists.
func (j *Journal) Resume(id string) (*Session, error) {
	err := j.hold(id, func(w *writer, _ int64) error {
		if known, err := w.exists(id); err != nil || known {
			return err
		}
		return fmt.Errorf("session %s: %w", id, ErrNoSession)
	})
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Session{j: j, id: id}, nil
}

// hold makes this process the owner of the session, after prepare.
func (j *Journal) hold(id string, prepare func(w *writer, at int64) error) error {
	var h *holding
	err := j.enter(true, func(w *writer) error {
		if err := prepare(w, now()); err != nil {
			return err
		}
		if holder, err := w.ownerOf(id); err != nil {
			return err
		} else if holder != "" {
			return &heldError{id, holder}
		}
		if err := w.exec(`UPDATE sessions SET owner = ? WHERE id = ?`, j.owner.id, id); err != nil {
			return err
		}
		newest, err := column[int64](w, newestTurn, id)
		if err == nil {
			h = j.spool.hold(id, newest[0])
		}
		return err
	})
	switch {
	case err == nil:
		j.spool.confirm(h)
	case h != nil:
		j.spool.release(id, h)
	}
	return err
}

// newestTurn is the highest number of a turn that has a call.
const newestTurn = `SELECT coalesce(max(turn), -9223372036854775808) FROM calls WHERE session = ?`

// ID returns the name of the session.
func (s *Session) ID() string { return s.id }

// Release lets others have the session; s is of no use afterwards. Calls that run in
// it go on. It may be called twice.
func (s *Session) Release() error {
	if s.released.Swap(true) {
		return nil // somebody else here may have begun it since
	}
	s.j.spool.release(s.id, nil)
	err := s.j.write.do(false, func(w *writer) error {
		return w.exec(`UPDATE sessions SET owner = '' WHERE id = ? AND owner = ?`, s.id, s.j.owner.id)
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// create makes the session id and its row of the chain, unless it is there.
func (w *writer) create(id string, about About, at int64) error {
	if known, err := w.exists(id); err != nil || known {
		return err
	}
	return w.append(kindSession, func(seq int64) (int64, []byte, error) {
		r := &sessionRow{id: id, About: about, created: at, seq: seq}
		return 0, r.sum(), w.exec(`INSERT INTO sessions (id, workspace, title, parent, parent_turn, owner, created, updated, seq) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?)`,
			id, about.Workspace, about.Title, about.Parent, about.ParentTurn, at, at, seq)
	})
}

func (w *writer) exists(session string) (bool, error) {
	s, err := w.stmt(`SELECT count(*) FROM sessions WHERE id = ?`)
	if err != nil {
		return false, err
	}
	n := 0
	err = s.QueryRow(session).Scan(&n)
	return n > 0, err
}

// ownerOf returns who holds the session, "" if nobody does.
func (w *writer) ownerOf(session string) (owner string, err error) {
	s, err := w.stmt(`SELECT owner FROM sessions WHERE id = ?`)
	if err != nil {
		return "", err
	}
	if err = s.QueryRow(session).Scan(&owner); errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return owner, err
}

// parentOf returns what the session was forked from, "" if it was not.
func (w *writer) parentOf(session string) (parent string, turn int, err error) {
	s, err := w.stmt(`SELECT parent, parent_turn FROM sessions WHERE id = ?`)
	if err != nil {
		return "", 0, err
	}
	err = s.QueryRow(session).Scan(&parent, &turn)
	return parent, turn, err
}

// mine sees to it that this process holds the session by s.
func (s *Session) mine(w *writer) error {
	holder, err := w.ownerOf(s.id)
	if err == nil && (holder != s.j.owner.id || s.released.Load()) {
		err = fmt.Errorf("session %s is no longer held by this process; begin or resume it", s.id)
	}
	return err
}

// heldError says that a session has another holder. It is an [ErrInUse].
type heldError struct{ session, owner string }

func (e *heldError) Error() string   { return fmt.Sprintf("session %s: %v", e.session, ErrInUse) }
func (e *heldError) Is(t error) bool { return t == ErrInUse }

// takeOver is how long a holder is looked at again before it counts as living.
const takeOver = 300 * time.Millisecond

// enter makes a change that begins with [writer.enter]. A dead holder of the session
// is in nobody's way.
func (j *Journal) enter(durable bool, change func(*writer) error) error {
	for end := time.Now().Add(takeOver); ; {
		err := j.write.do(durable, change)
		held, ok := errors.AsType[*heldError](err)
		if !ok {
			return err
		}
		if _, dead, recoverErr := j.recoverFrom(held.owner); recoverErr != nil {
			return recoverErr
		} else if !dead {
			// Somebody else may be about to take over from the same dead one: who
			// looks has its lock for that moment.
			if !time.Now().Before(end) {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// enter sees to it that owner may add to the session, and that there is a row of it.
// It is for a change of [Journal.enter].
func (w *writer) enter(session string, at int64, owner string) error {
	holder, err := w.touch(session, at)
	if err == nil && holder != "" && holder != owner {
		err = &heldError{session, holder}
	}
	return err
}

// touch sees to it that there is a row of the session, notes when it was used, and
// returns who holds it.
func (w *writer) touch(session string, at int64) (holder string, err error) {
	s, err := w.stmt(`SELECT owner, updated FROM sessions WHERE id = ?`)
	if err != nil {
		return "", err
	}
	var updated int64
	switch err := s.QueryRow(session).Scan(&holder, &updated); {
	case errors.Is(err, sql.ErrNoRows):
		return "", w.create(session, About{}, at)
	case err != nil:
		return "", err
	case at-updated > time.Second.Microseconds(): // what is listed by age need not be exact
		return holder, w.exec(`UPDATE sessions SET updated = ? WHERE id = ?`, at, session)
	}
	return holder, nil
}

// A sessionRow is what the chain covers of a session: all but who holds it and when
// its newest turn began.
type sessionRow struct {
	id string
	About
	created int64
	seq     int64
}

const sessionRowColumns = `id, workspace, title, parent, parent_turn, created, seq`

func scanSessionRow(s scanner) (*sessionRow, error) {
	r := new(sessionRow)
	err := s.Scan(&r.id, &r.Workspace, &r.Title, &r.Parent, &r.ParentTurn, &r.created, &r.seq)
	return r, err
}

func (r *sessionRow) sum() []byte {
	s := newSum(kindSession)
	s.texts(r.id, r.Workspace, r.Title, r.Parent)
	s.numbers(int64(r.ParentTurn), r.created)
	return s.done()
}

func (r *sessionRow) what() string { return "session " + r.id }

// The open calls are few; by the session each of its calls would be looked at.
const sessionColumns = `id, workspace, title, parent, parent_turn, owner, created, updated,
	(SELECT count(*) FROM turns WHERE session = sessions.id AND role = 'assistant'),
	(SELECT count(*) FROM calls WHERE session = sessions.id),
	(SELECT count(*) FROM calls INDEXED BY calls_open WHERE session = sessions.id AND seq IS NULL)`

func (j *Journal) scanSession(s scanner) (info SessionInfo, err error) {
	var owner string
	var created, updated int64
	err = s.Scan(&info.ID, &info.Workspace, &info.Title, &info.Parent, &info.ParentTurn, &owner, &created, &updated, &info.Turns, &info.Calls, &info.Open)
	info.Created, info.Updated = time.UnixMicro(created), time.UnixMicro(updated)
	info.InUse = owner != "" && j.lives(owner)
	return info, err
}

// SessionInfo describes one session; it is [ErrNoSession] if there is none.
func (j *Journal) SessionInfo(ctx context.Context, id string) (SessionInfo, error) {
	if err := j.flush(); err != nil {
		return SessionInfo{}, fmt.Errorf("journal: %w", err)
	}
	info, err := j.scanSession(j.read.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return info, fmt.Errorf("journal: session %s: %w", id, ErrNoSession)
	} else if err != nil {
		return info, fmt.Errorf("journal: %w", err)
	}
	return info, nil
}

const sessionPage = `SELECT ` + sessionColumns + ` FROM sessions WHERE (updated, id) < (?, ?) ORDER BY updated DESC, id DESC LIMIT 64`

// Sessions yields all sessions, the one with the newest turn first. One that gets a
// turn meanwhile may be missed. It ends after the first error.
func (j *Journal) Sessions(ctx context.Context) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		if err := j.flush(); err != nil {
			yield(SessionInfo{}, fmt.Errorf("journal: %w", err))
			return
		}
		before, id := int64(math.MaxInt64), ""
		for {
			rows, err := j.read.QueryContext(ctx, sessionPage, before, id)
			var page []SessionInfo
			for err == nil && rows.Next() {
				var info SessionInfo
				if info, err = j.scanSession(rows); err == nil {
					page = append(page, info)
				}
			}
			if rows != nil {
				err = errors.Join(err, rows.Err(), rows.Close())
			}
			if err != nil {
				yield(SessionInfo{}, fmt.Errorf("journal: %w", err))
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
				before, id = info.Updated.UnixMicro(), info.ID
			}
			if len(page) < 64 {
				return
			}
		}
	}
}

// A part is the beginning of a session, up to a turn.
type part struct {
	session string
	upTo    int
}

// maxForks bounds how long a line of forks is followed.
const maxForks = 1000

// lineage returns what a session consists of: the beginnings of those that it was
// forked from, the oldest first, and itself.
func (j *Journal) lineage(ctx context.Context, session string) ([]part, error) {
	line := []part{{session, math.MaxInt}}
	for range maxForks {
		var parent string
		var turn int
		err := j.read.QueryRowContext(ctx, `SELECT parent, parent_turn FROM sessions WHERE id = ?`, line[0].session).Scan(&parent, &turn)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil, fmt.Errorf("journal: session %s: %w", line[0].session, ErrNoSession)
		case err != nil:
			return nil, fmt.Errorf("journal: %w", err)
		case parent == "":
			return line, nil
		}
		line = append([]part{{parent, min(turn, line[0].upTo)}}, line...)
	}
	return nil, fmt.Errorf("journal: session %s: it was forked more than %d times over", session, maxForks)
}
