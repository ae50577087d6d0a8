package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A Turn is what one side said at once, as bytes that the journal does not read.
type Turn struct {
	Session string
	Pos     int    // place in its session, from 0
	Number  int    // of the turn of the model; of other messages that of the turn which they lead to
	Role    string // Assistant for what the model said, else what the caller likes
	Format  string // of Body, for who reads it back
	Body    []byte
	Digest  [sha256.Size]byte // of Body before it was redacted
	Model   string
	Stop    string // why the model stopped
	// Tokens that the turn cost.
	Input, Output, CacheRead, CacheWrite int64
	Redacted                             bool
	Created                              time.Time // to the microsecond
}

// Assistant is the role of the turns that have calls.
const Assistant = "assistant"

// A turnRow is a turn as it is stored.
type turnRow struct {
	Turn
	digest  []byte
	created int64
	id, seq int64
}

const turnColumns = `id, session, pos, number, role, format, body, digest, redacted, model, stop, input, output, cache_read, cache_write, created, seq`

func scanTurn(s scanner) (*turnRow, error) {
	t := new(turnRow)
	err := s.Scan(&t.id, &t.Session, &t.Pos, &t.Number, &t.Role, &t.Format, &t.Body, &t.digest, &t.Redacted, &t.Model, &t.Stop,
		&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.created, &t.seq)
	copy(t.Digest[:], t.digest)
	t.Created = time.UnixMicro(t.created)
	return t, err
}

func (t *turnRow) sum() []byte {
	s := newSum(kindTurn)
	s.numbers(t.id)
	s.texts(t.Session)
	s.numbers(int64(t.Pos), int64(t.Number))
	s.texts(t.Role, t.Format)
	s.bytes(t.Body, t.digest)
	s.flag(t.Redacted)
	s.texts(t.Model, t.Stop)
	s.numbers(t.Input, t.Output, t.CacheRead, t.CacheWrite, t.created)
	return s.done()
}

func (t *turnRow) what() string {
	return fmt.Sprintf("%s's turn %d of %s", t.Role, t.Number, t.Session)
}

// ErrOtherTurn is the error of a turn whose number an earlier one with other
// bytes has.
var ErrOtherTurn = errors.New("the turn was submitted before with other bytes")

// Append adds a turn to the session, durably, and fills in its Session, Pos, Digest
// and Created. A turn of the model that is there already, with the same number and
// bytes, is not added again: then its Pos is that of the first. A number that a fork
// shares with its parent is refused.
func (s *Session) Append(t *Turn) error {
	body, redacted := s.j.redact(t.Body)
	r := &turnRow{Turn: *t, created: now()}
	r.Session, r.Body, r.Redacted, r.Digest = s.id, body, redacted, sha256.Sum256(t.Body)
	r.digest = r.Digest[:]
	there := r // or the row of the first time
	err := s.j.write.do(true, func(w *writer) error {
		there = r
		if err := s.mine(w); err != nil {
			return err
		}
		if parent, turn, err := w.parentOf(s.id); err != nil {
			return err
		} else if parent != "" && r.Number <= turn {
			return fmt.Errorf("turn %d of session %s: it shares the turns up to %d with %s, which it was forked from; its own begin after that", r.Number, s.id, turn, parent)
		}
		if r.Role == Assistant {
			before, err := w.turnRow(`SELECT `+turnColumns+` FROM turns WHERE session = ? AND number = ? AND role = 'assistant'`, s.id, r.Number)
			switch {
			case err != nil:
				return err
			case before != nil && !bytes.Equal(before.digest, r.digest):
				return fmt.Errorf("turn %d of session %s: %w", r.Number, s.id, ErrOtherTurn)
			case before != nil:
				there = before
				return nil
			}
		}
		last, err := w.turnRow(`SELECT `+turnColumns+` FROM turns WHERE session = ? ORDER BY pos DESC LIMIT 1`, s.id)
		if err != nil {
			return err
		}
		r.Pos = 0
		if last != nil {
			r.Pos = last.Pos + 1
		}
		if err := w.addTurn(r); err != nil {
			return err
		}
		return w.exec(`UPDATE sessions SET updated = ? WHERE id = ?`, r.created, s.id)
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	t.Session, t.Pos, t.Digest, t.Redacted, t.Created = s.id, there.Pos, r.Digest, there.Redacted, time.UnixMicro(there.created)
	return nil
}

// addTurn writes a turn and puts it at the end of the chain, within the transaction.
func (w *writer) addTurn(r *turnRow) error {
	return w.append(kindTurn, func(seq int64) (int64, []byte, error) {
		r.seq = seq
		res, err := w.run(`INSERT INTO turns (session, pos, number, role, format, body, digest, redacted, model, stop, input, output, cache_read, cache_write, created, seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.Session, r.Pos, r.Number, r.Role, r.Format, r.Body, r.digest, r.Redacted, r.Model, r.Stop,
			r.Input, r.Output, r.CacheRead, r.CacheWrite, r.created, seq)
		if err != nil {
			return 0, nil, err
		}
		r.id, err = res.LastInsertId()
		return r.id, r.sum(), err
	})
}

// Last returns the newest turn of the model in the session, those of the session
// that it was forked from included; nil if there is none.
func (s *Session) Last(ctx context.Context) (*Turn, error) {
	line, err := s.j.lineage(ctx, s.id)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(line) {
		t, err := scanTurn(s.j.read.QueryRowContext(ctx, lastTurn, p.session, p.upTo))
		if errors.Is(err, sql.ErrNoRows) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		return &t.Turn, nil
	}
	return nil, nil
}

const lastTurn = `SELECT ` + turnColumns + ` FROM turns WHERE session = ? AND number <= ? AND role = 'assistant' ORDER BY number DESC LIMIT 1`

// turnRow returns the one row of a query, nil if there is none.
func (w *writer) turnRow(query string, args ...any) (*turnRow, error) {
	stmt, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	t, err := scanTurn(stmt.QueryRow(args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, err
}

// Turns yields the turns of a session in their order, those of the session that it
// was forked from first. It ends after the first error.
func (j *Journal) Turns(ctx context.Context, session string) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		line, err := j.lineage(ctx, session)
		if err != nil {
			yield(Turn{}, err)
			return
		}
		for _, part := range line {
			for t, err := range j.turnsOf(ctx, part) {
				if !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
}

const turnPage = `SELECT ` + turnColumns + ` FROM turns WHERE session = ? AND pos > ? ORDER BY pos LIMIT 32`

func (j *Journal) turnsOf(ctx context.Context, p part) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		for last := -1; ; {
			rows, err := j.read.QueryContext(ctx, turnPage, p.session, last)
			var page []*turnRow
			for err == nil && rows.Next() {
				var t *turnRow
				if t, err = scanTurn(rows); err == nil {
					page = append(page, t)
				}
			}
			if rows != nil {
				err = errors.Join(err, rows.Err(), rows.Close())
			}
			if err != nil {
				yield(Turn{}, fmt.Errorf("journal: %w", err))
				return
			}
			for _, t := range page {
				if t.Number > p.upTo || !yield(t.Turn, nil) {
					return
				}
				last = t.Pos
			}
			if len(page) < 32 {
				return
			}
		}
	}
}
