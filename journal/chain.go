package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of rows in the chain.
const (
	kindSession  = "session"
	kindCall     = "call"
	kindTurn     = "turn"
	kindApproval = "approval"
	kindRemoval  = "removal"
)

// A Head is the end of the chain: the number of rows in it (sessions, settled
// calls, turns, approvals and removals), and a hash that covers them all in their
// order. The zero Head is that of an empty journal. Kept where whoever can write the
// file cannot write, it proves what the file held.
type Head struct {
	Rows int64
	Hash [sha256.Size]byte
}

// String returns rows:hash, the hash in hex.
func (h Head) String() string { return fmt.Sprintf("%d:%x", h.Rows, h.Hash) }

// ParseHead returns the head whose String is s.
func ParseHead(s string) (Head, error) {
	rows, sum, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(rows, 10, 64)
	b, hexErr := hex.DecodeString(sum)
	if !ok || err != nil || hexErr != nil || n < 0 || len(b) != sha256.Size {
		return Head{}, fmt.Errorf("journal: %q is no head: want a number, a colon and %d hex digits", s, 2*sha256.Size)
	}
	h := Head{Rows: n, Hash: [sha256.Size]byte(b)}
	if h.String() != s {
		return Head{}, fmt.Errorf("journal: %q is no head: it is %q", s, h)
	}
	return h, nil
}

const headRow = `SELECT seq, kind, ref, digest, hash FROM chain ORDER BY seq DESC LIMIT 1`

// Head returns the present end of the chain.
func (j *Journal) Head(ctx context.Context) (Head, error) {
	if err := j.flush(); err != nil {
		return Head{}, fmt.Errorf("journal: %w", err)
	}
	l, err := scanLink(j.read.QueryRowContext(ctx, headRow))
	if errors.Is(err, sql.ErrNoRows) {
		return Head{}, nil
	} else if err != nil {
		return Head{}, fmt.Errorf("journal: %w", err)
	}
	return l.head()
}

// A link is a row of the chain: it covers the link before it, and a row of the
// table of its kind.
type link struct {
	seq    int64
	kind   string
	ref    int64  // id of the row; 0 for a session, whose id is its name
	digest []byte // sum of the row
	hash   []byte
}

func scanLink(s scanner) (l link, err error) {
	err = s.Scan(&l.seq, &l.kind, &l.ref, &l.digest, &l.hash)
	return l, err
}

func (l link) head() (Head, error) {
	if len(l.hash) != sha256.Size {
		return Head{}, &Broken{l.seq, "its hash is not one"}
	}
	return Head{Rows: l.seq, Hash: [sha256.Size]byte(l.hash)}, nil
}

// after returns the hash of the link after the one with the hash before.
func (l link) after(before []byte) []byte {
	s := newSum("chain")
	s.bytes(before)
	s.numbers(l.seq)
	s.texts(l.kind)
	s.numbers(l.ref)
	s.bytes(l.digest)
	return s.done()
}

// next returns the place of the next row in the chain, within the transaction.
func (w *writer) next() (int64, []byte, error) {
	end, err := w.stmt(headRow)
	if err != nil {
		return 0, nil, err
	}
	l, err := scanLink(end.QueryRow())
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, nil, err
	}
	return l.seq + 1, l.hash, nil
}

// append puts a row at the end of the chain. write is given its place, and writes
// the row with it and returns its id and sum.
func (w *writer) append(kind string, write func(seq int64) (id int64, sum []byte, err error)) error {
	seq, before, err := w.next()
	if err != nil {
		return err
	}
	l := link{seq: seq, kind: kind}
	if l.ref, l.digest, err = write(seq); err != nil {
		return err
	}
	return w.link(&l, before)
}

// link writes a link, which comes after the one with the hash before.
func (w *writer) link(l *link, before []byte) (err error) {
	l.hash = l.after(before)
	if err := w.exec(`INSERT INTO chain (seq, kind, ref, digest, hash) VALUES (?, ?, ?, ?, ?)`, l.seq, l.kind, l.ref, l.digest, l.hash); err != nil {
		return err
	}
	w.head, err = l.head()
	return err
}

// Broken is the error of [Journal.Verify]: the first row of the chain at which
// the file is not what was written.
type Broken struct {
	Row int64 // place in the chain, from 1; 0 if it is no row but a table
	Why string
}

// Error names the row.
func (b *Broken) Error() string {
	if b.Row == 0 {
		return "journal: " + b.Why
	}
	return fmt.Sprintf("journal: row %d of the chain: %s", b.Row, b.Why)
}

// A Verification is what [Journal.Verify] found.
type Verification struct {
	Head     Head
	Calls    int64 // settled calls that are there
	Removed  int64 // rows that were removed with their sessions, as the chain says
	Removals int64 // of sessions
	Open     int64 // calls that are not settled, and so not in the chain yet
}

// Verify reads the whole chain and every row that it covers, and returns what it
// found, or a *[Broken] that names the first row that was changed, removed or put
// elsewhere. Rows of a session that was removed ([Journal.Remove]) are gone by
// right: the removal is a row of the chain too. Kept heads are compared with the
// chain at their places; without one (the zero Head is none), a chain that was made
// anew from some row on, or lost its newest rows, is not noticed.
func (j *Journal) Verify(ctx context.Context, kept ...Head) (v Verification, err error) {
	if err := j.flush(); err != nil {
		return v, fmt.Errorf("journal: %w", err)
	}
	defer func() {
		if err != nil && ctx.Err() != nil { // what could not be read then is not broken
			err = fmt.Errorf("journal: not verified to the end: %w", context.Cause(ctx))
		}
	}()
	heads, newest := map[int64]Head{}, int64(0)
	for _, h := range kept {
		if first, ok := heads[h.Rows]; ok && first != h {
			return v, &Broken{h.Rows, "two heads that were kept contradict each other"}
		}
		heads[h.Rows], newest = h, max(newest, h.Rows)
	}
	tx, err := j.read.BeginTx(ctx, nil) // one state of the file
	if err != nil {
		return v, fmt.Errorf("journal: %w", err)
	}
	defer tx.Rollback()
	if err := checkShape(ctx, tx); err != nil {
		if _, broken := errors.AsType[*Broken](err); broken {
			return v, err
		}
		return v, fmt.Errorf("journal: %w", err)
	}
	removed, err := removedPlaces(ctx, tx)
	if err != nil {
		return v, fmt.Errorf("journal: %w", err)
	}
	tables, err := openTables(ctx, tx)
	defer tables.close()
	if err != nil {
		return v, fmt.Errorf("journal: %w", err)
	}
	rows, err := tx.QueryContext(ctx, `SELECT seq, kind, ref, digest, hash FROM chain ORDER BY seq`)
	if err != nil {
		return v, fmt.Errorf("journal: %w", err)
	}
	defer rows.Close()
	var before []byte
	for rows.Next() {
		at := v.Head.Rows + 1
		l, err := scanLink(rows)
		if err != nil {
			return v, errors.Join(&Broken{at, "it cannot be read"}, err)
		}
		switch {
		case l.seq > at:
			return v, &Broken{at, "it is missing"}
		case l.seq < at:
			return v, &Broken{l.seq, "its place is before the first"}
		}
		gone, err := tables.check(l)
		if err != nil {
			return v, err
		}
		switch {
		case gone != nil && !removed.covers(l):
			return v, gone
		case gone != nil:
			v.Removed++
		case l.kind == kindCall:
			v.Calls++
		case l.kind == kindRemoval:
			v.Removals++
		}
		if !bytes.Equal(l.hash, l.after(before)) {
			return v, &Broken{at, "its link was changed, or is not the one that was written there"}
		}
		if v.Head, err = l.head(); err != nil {
			return v, err
		}
		before = l.hash
		if h, ok := heads[at]; ok && v.Head != h {
			return v, &Broken{at, "up to here the chain is not the one whose head was kept: it was made anew"}
		}
	}
	if err := rows.Err(); err != nil {
		return v, errors.Join(&Broken{v.Head.Rows + 1, "it cannot be read"}, err)
	}
	if err := tables.rest(v.Head.Rows); err != nil {
		return v, err
	}
	if newest > v.Head.Rows {
		return v, &Broken{v.Head.Rows + 1, fmt.Sprintf("it is missing, and all after it: the head that was kept covers %d rows", newest)}
	}
	return v, tx.QueryRowContext(ctx, `SELECT count(*) FROM calls WHERE seq IS NULL`).Scan(&v.Open)
}
