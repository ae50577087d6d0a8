package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/callgate/callgate"
)

// An Approval is what a person said of one call.
type Approval struct {
	Identity   callgate.Identity
	Tool       string
	ToolDigest string
	Digest     []byte // of the call: callgate.Call.Digest
	Rule       string // that asked
	Reason     string
	Approved   bool
	By         string
	Message    string // to the model
	Asked      time.Time
	Answered   time.Time
}

// Approver returns an approver that asks next and records what was said, on disk
// before the call can start. An answer that cannot be recorded approves nothing.
// Answers to anonymous calls are not recorded. Nobody is asked about a call of a
// session that another process holds: it is answered with [callgate.Unavailable], as
// it would be after a yes.
func (j *Journal) Approver(next callgate.Approver) callgate.Approver {
	return func(ctx context.Context, req callgate.Request, why callgate.Decision) (callgate.Answer, error) {
		if held, err := j.heldElsewhere(ctx, req.Call.Identity.Session); err != nil {
			return callgate.Answer{}, fmt.Errorf("journal: nobody was asked, since the answer could not be recorded: %w", err)
		} else if held != nil {
			return callgate.Answer{}, &callgate.Error{Code: callgate.Unavailable, NotStarted: true, Cause: held, Message: "nobody was asked, because another process has the session; submit the call there, or when that has ended"}
		}
		asked := now()
		answer, err := next(ctx, req, why)
		if err != nil || req.Call.Identity.Session == "" {
			return answer, err
		}
		tool, err := req.Spec.Digest()
		if err != nil {
			return callgate.Answer{}, err
		}
		id, digest := req.Call.Identity, req.Call.Digest()
		a := &approvalRow{
			Approval: Approval{Identity: id, Tool: req.Call.Name, ToolDigest: tool, Digest: digest[:], Rule: why.Rule, Reason: j.redactText(why.Reason),
				Approved: answer.Approved, By: answer.By, Message: j.redactText(answer.Message)},
			asked: asked, answered: now(),
		}
		err = j.enter(true, func(w *writer) error {
			if err := w.enter(id.Session, a.asked, j.owner.id); err != nil {
				return err
			}
			return w.addApproval(a)
		})
		if err != nil {
			return callgate.Answer{}, fmt.Errorf("journal: the answer cannot be recorded: %w", err)
		}
		return answer, nil
	}
}

// heldElsewhere returns an [ErrInUse] if another process holds the session.
func (j *Journal) heldElsewhere(ctx context.Context, session string) (held, err error) {
	if j.write == nil && session != "" {
		return nil, ErrReadOnly
	}
	var owner string
	switch err := j.read.QueryRowContext(ctx, `SELECT owner FROM sessions WHERE id = ?`, session).Scan(&owner); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case owner != "" && owner != j.owner.id && j.lives(owner):
		return &heldError{session, owner}, nil
	}
	return nil, nil
}

// An approvalRow is an approval as it is stored.
type approvalRow struct {
	Approval
	asked, answered int64
	id, seq         int64
}

const approvalColumns = `id, session, turn, idx, tool, tool_digest, digest, rule, reason, approved, approver, message, asked, answered, seq`

func scanApproval(s scanner) (*approvalRow, error) {
	a := new(approvalRow)
	err := s.Scan(&a.id, &a.Identity.Session, &a.Identity.Turn, &a.Identity.Index, &a.Tool, &a.ToolDigest, &a.Digest, &a.Rule, &a.Reason,
		&a.Approved, &a.By, &a.Message, &a.asked, &a.answered, &a.seq)
	a.Asked, a.Answered = time.UnixMicro(a.asked), time.UnixMicro(a.answered)
	return a, err
}

func (a *approvalRow) sum() []byte {
	s := newSum(kindApproval)
	s.numbers(a.id)
	s.texts(a.Identity.Session)
	s.numbers(int64(a.Identity.Turn), int64(a.Identity.Index))
	s.texts(a.Tool, a.ToolDigest)
	s.bytes(a.Digest)
	s.texts(a.Rule, a.Reason)
	s.flag(a.Approved)
	s.texts(a.By, a.Message)
	s.numbers(a.asked, a.answered)
	return s.done()
}

// addApproval writes an approval and puts it at the end of the chain, within the
// transaction.
func (w *writer) addApproval(a *approvalRow) error {
	return w.append(kindApproval, func(seq int64) (int64, []byte, error) {
		res, err := w.run(`INSERT INTO approvals (session, turn, idx, tool, tool_digest, digest, rule, reason, approved, approver, message, asked, answered, seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.Identity.Session, a.Identity.Turn, a.Identity.Index, a.Tool, a.ToolDigest, a.Digest, a.Rule, a.Reason, a.Approved, a.By, a.Message, a.asked, a.answered, seq)
		if err != nil {
			return 0, nil, err
		}
		a.id, err = res.LastInsertId()
		return a.id, a.sum(), err
	})
}

func (a *approvalRow) what() string { return fmt.Sprintf("approval of call %s", a.Identity) }

const approvalsOf = `SELECT ` + approvalColumns + ` FROM approvals WHERE session = ? AND (turn, idx, id) > (?, ?, ?) ORDER BY turn, idx, id LIMIT 128`

// Approvals yields what was said of the calls of a session, by turn, index and time.
// It ends after the first error.
func (j *Journal) Approvals(ctx context.Context, session string) iter.Seq2[Approval, error] {
	return func(yield func(Approval, error) bool) {
		page, err := j.approvalPage(ctx, session, nil)
		for ; err == nil && len(page) > 0; page, err = j.approvalPage(ctx, session, page[len(page)-1]) {
			for _, a := range page {
				if !yield(a.Approval, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(Approval{}, fmt.Errorf("journal: %w", err))
		}
	}
}

// approvalPage returns the approvals after one, or the first ones.
func (j *Journal) approvalPage(ctx context.Context, session string, after *approvalRow) (page []*approvalRow, err error) {
	turn, index, id := int64(math.MinInt64), int64(math.MinInt64), int64(-1)
	if after != nil {
		turn, index, id = int64(after.Identity.Turn), int64(after.Identity.Index), after.id
	}
	rows, err := j.read.QueryContext(ctx, approvalsOf, session, turn, index, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scanApproval(rows)
		if err != nil {
			return nil, err
		}
		page = append(page, a)
	}
	return page, rows.Err()
}
