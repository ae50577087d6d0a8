package journal

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/callgate/callgate/journal/transfer"
)

// ExportOptions are the settings of [Journal.Export].
type ExportOptions struct {
	// Artifacts adds the outputs that were too long to show. One that is gone, or of
	// which no digest is known, is an error.
	Artifacts bool
}

// Export writes a session to w in the format of package transfer, for [Journal.Import].
// A fork takes the sessions that it was forked from with it, up to the turns that it
// shares with them. Calls of dead processes are settled first, unless the journal was
// opened to read; a call that is open is an error. What is written is one state of the
// file, so a slow w keeps SQLite from emptying its log. After an error w has a part of a
// file, which Import refuses.
func (j *Journal) Export(ctx context.Context, session string, w io.Writer, opts ExportOptions) error {
	if _, err := j.Recover(ctx); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	info, err := j.SessionInfo(ctx, session) // which flushes the spool
	if err != nil {
		return err
	}
	if j.write == nil && info.Open > 0 {
		return fmt.Errorf("journal: session %s was not exported: %d of its calls are open; they run, or their process died: then whoever opens the journal to write settles them", session, info.Open)
	}
	line, err := j.lineage(ctx, session)
	if err != nil {
		return err
	}
	if opts.Artifacts && j.opts.Artifacts == nil {
		return errors.New("journal: there is no place of artifacts to take them from")
	}
	tx, err := j.read.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer tx.Rollback()
	e := &exporter{ctx: ctx, tx: tx, named: map[string]bool{}}
	err = e.begin(w, line)
	for i := 0; err == nil && i < len(line); i++ {
		err = e.part(line[i])
	}
	if err == nil && opts.Artifacts {
		err = j.exportArtifacts(e)
	}
	if err == nil {
		err = e.out.Close()
	}
	if err != nil {
		return fmt.Errorf("journal: session %s was not exported: %w", session, err)
	}
	return nil
}

// An exporter writes sessions as they are in one transaction.
type exporter struct {
	ctx       context.Context
	tx        *sql.Tx
	out       *transfer.Writer
	artifacts []wholeOutput
	named     map[string]bool
}

// A wholeOutput is an artifact that a call names.
type wholeOutput struct {
	id   string
	sum  []byte
	call string
}

// begin writes the first line.
func (e *exporter) begin(w io.Writer, line []part) error {
	var head Head
	l, err := scanLink(e.tx.QueryRowContext(e.ctx, headRow))
	if err == nil {
		head, err = l.head()
	} else if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return err
	}
	h := transfer.Header{Head: head.String()}
	parent := ""
	for _, p := range line {
		s := transfer.Session{ID: transfer.Text(p.session)}
		var forkedFrom string
		err := e.tx.QueryRowContext(e.ctx, `SELECT workspace, title, parent, parent_turn, created, updated FROM sessions WHERE id = ?`, p.session).
			Scan(&s.Workspace, &s.Title, &forkedFrom, &s.ParentTurn, &s.Created, &s.Updated)
		if errors.Is(err, sql.ErrNoRows) || err == nil && forkedFrom != parent {
			return ErrNoSession // it was removed since, and perhaps made anew
		} else if err != nil {
			return err
		}
		if parent == "" {
			s.ParentTurn = 0
		}
		h.Sessions, parent = append(h.Sessions, s), p.session
	}
	e.out, err = transfer.NewWriter(w, h)
	return err
}

// part writes the beginning of a session.
func (e *exporter) part(p part) error {
	upTo := int64(math.MaxInt64) // an int has less on some machines
	if p.upTo != math.MaxInt {
		upTo = int64(p.upTo)
	}
	beyond := false // a turn that is not shared ends the part, whatever follows it
	err := e.rows(`SELECT `+turnColumns+` FROM turns WHERE session = ? ORDER BY pos`, []any{p.session}, func(s scanner) (transfer.Item, error) {
		t, err := scanTurn(s)
		if beyond = beyond || int64(t.Number) > upTo; beyond || err != nil {
			return transfer.Item{}, err
		}
		return transfer.Item{Turn: t.transfer()}, nil
	})
	if err != nil {
		return err
	}
	err = e.rows(`SELECT `+approvalColumns+` FROM approvals WHERE session = ? AND turn <= ? ORDER BY turn, idx, id`, []any{p.session, upTo}, func(s scanner) (transfer.Item, error) {
		a, err := scanApproval(s)
		return transfer.Item{Approval: a.transfer()}, err
	})
	if err != nil {
		return err
	}
	return e.rows(`SELECT `+columns+` FROM calls WHERE session = ? AND turn <= ? ORDER BY turn, idx, run`, []any{p.session, upTo}, func(s scanner) (transfer.Item, error) {
		r, err := scan(s)
		if err == nil && r.artifact != "" && !e.named[r.artifact] {
			e.named[r.artifact] = true
			e.artifacts = append(e.artifacts, wholeOutput{r.artifact, r.artifactSum, r.what()})
		}
		return transfer.Item{Call: r.transfer()}, err
	})
}

// rows writes what item makes of the rows of a query; nothing for the zero Item.
func (e *exporter) rows(query string, args []any, item func(scanner) (transfer.Item, error)) error {
	rows, err := e.tx.QueryContext(e.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		it, err := item(rows)
		if err == nil && (it.Turn != nil || it.Approval != nil || it.Call != nil) {
			err = e.out.Write(it)
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

func (j *Journal) exportArtifacts(e *exporter) error {
	buf := make([]byte, transfer.PieceSize)
	for _, a := range e.artifacts {
		if err := j.exportArtifact(e, a, buf); err != nil {
			return fmt.Errorf("the whole output of %s: %w; without the outputs the rest can be exported", a.call, err)
		}
	}
	return nil
}

func (j *Journal) exportArtifact(e *exporter, a wholeOutput, buf []byte) error {
	r, err := j.opts.Artifacts.Open(a.id)
	if err != nil {
		return err
	}
	defer r.Close()
	// That its digest is the one which was recorded is for the writer to see.
	err = e.out.Write(transfer.Item{Artifact: &transfer.Artifact{ID: a.id, Size: r.Artifact.Size, SHA256: hex.EncodeToString(r.Artifact.SHA256[:])}})
	for err == nil {
		var n int
		if n, err = io.ReadFull(r, buf); n > 0 {
			if e := e.out.Write(transfer.Item{Piece: buf[:n]}); e != nil {
				return e
			}
		}
		if ctxErr := e.ctx.Err(); ctxErr != nil {
			return ctxErr
		}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

func (t *turnRow) transfer() *transfer.Turn {
	return &transfer.Turn{
		Session: transfer.Text(t.Session), Pos: int64(t.Pos), Number: int64(t.Number), Role: transfer.Text(t.Role), Format: transfer.Text(t.Format),
		Body: transfer.Text(t.Body), Digest: hex.EncodeToString(t.digest), Redacted: t.Redacted, Model: transfer.Text(t.Model), Stop: transfer.Text(t.Stop),
		Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Created: t.created,
	}
}

func (a *approvalRow) transfer() *transfer.Approval {
	return &transfer.Approval{
		Session: transfer.Text(a.Identity.Session), Turn: int64(a.Identity.Turn), Index: int64(a.Identity.Index), Tool: transfer.Text(a.Tool), ToolDigest: transfer.Text(a.ToolDigest),
		Digest: hex.EncodeToString(a.Digest), Rule: transfer.Text(a.Rule), Reason: transfer.Text(a.Reason), Approved: a.Approved, By: transfer.Text(a.By), Message: transfer.Text(a.Message),
		Asked: a.asked, Answered: a.answered,
	}
}

func (r *row) transfer() *transfer.Call {
	return &transfer.Call{
		Session: transfer.Text(r.session), Turn: r.turn, Index: r.index, Run: r.run, CallID: transfer.Text(r.callID), Tool: transfer.Text(r.tool), Source: transfer.Text(r.source),
		ToolDigest: transfer.Text(r.toolDigest), Effect: r.effect, Arguments: transfer.Text(r.arguments), Digest: hex.EncodeToString(r.digest), Redacted: r.redacted,
		Verdict: r.verdict, Rule: transfer.Text(r.rule), Reason: transfer.Text(r.reason), By: transfer.Text(r.by), Labels: transfer.Text(r.labels), Sandbox: transfer.Text(r.sandbox),
		Claimed: r.claimed, Started: r.started, Ended: r.ended, Attempts: r.attempts, State: r.state, Code: r.code, Truncated: r.truncated, Result: transfer.Text(r.result),
		Artifact: r.artifact, ArtifactSum: hex.EncodeToString(r.artifactSum),
	}
}
