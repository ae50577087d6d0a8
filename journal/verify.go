package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// A covered row is one that the chain covers.
type covered interface {
	sum() []byte
	what() string // for people
}

// A table yields the rows of one kind in the order of the chain.
type table struct {
	kind string
	rows *sql.Rows
	scan func(scanner) (id int64, c covered, err error)

	seq, id int64 // of the row that comes next
	row     covered
	err     error // why it cannot be read, if it cannot; its place can, unless done
	done    bool  // there is no next row, or it is not known whether there is
}

type tables []*table // one of each kind

// openTables begins to read all tables that the chain covers.
func openTables(ctx context.Context, tx *sql.Tx) (tables, error) {
	var ts tables
	for _, t := range []struct {
		kind  string
		query string
		scan  func(scanner) (id int64, c covered, err error)
	}{
		{kindSession, `SELECT seq, ` + sessionRowColumns + ` FROM sessions ORDER BY seq`, func(s scanner) (int64, covered, error) {
			r, err := scanSessionRow(s)
			return 0, r, err
		}},
		{kindCall, `SELECT seq, ` + columns + ` FROM calls WHERE seq IS NOT NULL ORDER BY seq`, func(s scanner) (int64, covered, error) {
			r, err := scan(s)
			return r.id, r, err
		}},
		{kindTurn, `SELECT seq, ` + turnColumns + ` FROM turns ORDER BY seq`, func(s scanner) (int64, covered, error) {
			t, err := scanTurn(s)
			return t.id, t, err
		}},
		{kindApproval, `SELECT seq, ` + approvalColumns + ` FROM approvals ORDER BY seq`, func(s scanner) (int64, covered, error) {
			a, err := scanApproval(s)
			return a.id, a, err
		}},
		{kindRemoval, `SELECT seq, ` + removalColumns + ` FROM removals ORDER BY seq`, func(s scanner) (int64, covered, error) {
			r, err := scanRemoval(s)
			return r.id, r, err
		}},
	} {
		rows, err := tx.QueryContext(ctx, t.query)
		if err != nil {
			return ts, err
		}
		ts = append(ts, &table{kind: t.kind, rows: rows, scan: t.scan})
		ts[len(ts)-1].advance()
	}
	return ts, nil
}

func (ts tables) close() {
	for _, t := range ts {
		t.rows.Close()
	}
}

func (t *table) advance() {
	if !t.rows.Next() {
		t.done, t.err = true, t.rows.Err()
		return
	}
	t.id, t.row, t.err = t.scan(placed{t.rows, &t.seq})
}

// placed is a row whose place comes before the other columns. It is filled in even
// if one of those cannot be read.
type placed struct {
	rows *sql.Rows
	seq  *int64
}

func (p placed) Scan(dest ...any) error { return p.rows.Scan(append([]any{p.seq}, dest...)...) }

// next returns the table whose row has the lowest place, nil if all are at their
// ends.
func (ts tables) next() (next *table) {
	for _, t := range ts {
		if !t.done && (next == nil || t.seq < next.seq) {
			next = t
		}
	}
	return next
}

// check compares the row that l covers with what l says of it. A row that is not
// there is returned as gone: whether by right is another question.
func (ts tables) check(l link) (gone *Broken, err error) {
	if next := ts.next(); next != nil && next.seq < l.seq {
		return nil, &Broken{next.seq, "there is a row too many (" + next.row.what() + ")"}
	}
	i := slices.IndexFunc(ts, func(t *table) bool { return t.kind == l.kind })
	if i < 0 {
		return nil, &Broken{l.seq, fmt.Sprintf("its kind %q is unknown", l.kind)}
	}
	t := ts[i]
	switch {
	case t.err != nil && (t.done || t.seq == l.seq):
		return nil, errors.Join(&Broken{l.seq, "it cannot be read"}, t.err)
	case t.done || t.seq > l.seq:
		return &Broken{l.seq, "it is missing (a " + l.kind + ")"}, nil
	case t.id != l.ref || !bytes.Equal(t.row.sum(), l.digest):
		return nil, &Broken{l.seq, "it was changed, or is not the row that was written there (" + t.row.what() + ")"}
	}
	t.advance()
	return nil, nil
}

// rest sees to it that no table has rows beyond the last of the chain.
func (ts tables) rest(last int64) error {
	for _, t := range ts {
		if t.err != nil {
			return errors.Join(&Broken{last + 1, "there is a row too many (a " + t.kind + "), or it cannot be read whether there is"}, t.err)
		}
	}
	if next := ts.next(); next != nil {
		return &Broken{next.seq, "there is a row too many (" + next.row.what() + "), which the chain does not cover"}
	}
	return nil
}
