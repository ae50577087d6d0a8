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

// A Head is the end of the chain: the number of settled calls, and a hash that
// covers them all in their order. The zero Head is that of an empty journal. Kept
// where whoever can write the file cannot write, it proves what the file held.
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

const headRow = `SELECT seq, hash FROM calls WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1`

// Head returns the present end of the chain.
func (j *Journal) Head(ctx context.Context) (Head, error) {
	r := new(row)
	if err := j.read.QueryRowContext(ctx, headRow).Scan(&r.seq, &r.hash); errors.Is(err, sql.ErrNoRows) {
		return Head{}, nil
	} else if err != nil {
		return Head{}, err
	}
	return headOf(r)
}

func headOf(r *row) (Head, error) {
	if len(r.hash) != sha256.Size {
		return Head{}, &Broken{r.seq, "its hash is not one"}
	}
	return Head{Rows: r.seq, Hash: [sha256.Size]byte(r.hash)}, nil
}

// Broken is the error of [Journal.Verify]: the first row of the chain at which
// the file is not what was written.
type Broken struct {
	Row int64 // place in the chain, from 1
	Why string
}

// Error names the row.
func (b *Broken) Error() string { return fmt.Sprintf("journal: row %d of the chain: %s", b.Row, b.Why) }

// Verify reads the whole chain and returns its head, or a *[Broken] that names the
// first row that was changed, removed or put elsewhere. A kept head is compared
// with the chain at its place; the zero Head compares nothing, and then a chain that
// was made anew from some row on, or lost its newest rows, is not noticed.
func (j *Journal) Verify(ctx context.Context, kept Head) (Head, error) {
	rows, err := j.read.QueryContext(ctx, `SELECT `+columns+` FROM calls WHERE seq IS NOT NULL ORDER BY seq`)
	if err != nil {
		return Head{}, err
	}
	defer rows.Close()
	var head Head
	var before []byte
	for rows.Next() {
		at := head.Rows + 1
		r, err := scan(rows)
		if err != nil {
			return head, errors.Join(&Broken{at, "it cannot be read"}, err)
		}
		switch {
		case r.seq > at:
			return head, &Broken{at, "it is missing"}
		case r.seq < at:
			return head, &Broken{r.seq, "its place is before the first"}
		case !bytes.Equal(r.hash, r.link(before)):
			return head, &Broken{at, fmt.Sprintf("it was changed, or is not the row that was written there (call %s/%d/%d, tool %s)", r.session, r.turn, r.index, r.tool)}
		}
		if head, err = headOf(r); err != nil {
			return head, err
		}
		before = r.hash
		if at == kept.Rows && head != kept {
			return head, &Broken{at, "up to here the chain is not the one whose head was kept: it was made anew"}
		}
	}
	if err := rows.Err(); err != nil {
		return head, errors.Join(&Broken{head.Rows + 1, "it cannot be read"}, err)
	}
	if kept.Rows > head.Rows {
		return head, &Broken{head.Rows + 1, fmt.Sprintf("it is missing, and all after it: the head that was kept covers %d rows", kept.Rows)}
	}
	return head, nil
}
