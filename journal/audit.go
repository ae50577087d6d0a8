package journal

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// An AuditRow is a row of the chain as [Journal.Audit] writes it, with what identifies
// the row that it covers. Members that a kind of row does not have are left out.
type AuditRow struct {
	Place  int64  `json:"place"` // from 1
	Kind   string `json:"kind"`  // session, call, turn, approval or removal
	Ref    int64  `json:"ref"`   // id of the row in the table of its kind; 0 for a session
	Digest string `json:"digest"`
	Hash   string `json:"hash"`
	// Gone says that the row is not there: it was removed with its session, or by
	// somebody ([Journal.Verify] tells which).
	Gone bool `json:"gone,omitempty"`

	Session *string `json:"session,omitempty"`
	Turn    *int64  `json:"turn,omitempty"`
	Index   *int64  `json:"index,omitempty"`
	Run     *int64  `json:"run,omitempty"`
	Role    string  `json:"role,omitempty"` // of a turn
	// Parent is what a session was forked from, after ParentTurn.
	Parent     string  `json:"parent,omitempty"`
	ParentTurn *int64  `json:"parentTurn,omitempty"`
	Tool       string  `json:"tool,omitempty"`
	Effect     string  `json:"effect,omitempty"`
	Verdict    string  `json:"verdict,omitempty"`
	Rule       string  `json:"rule,omitempty"`
	By         string  `json:"by,omitempty"` // who was asked
	Owner      string  `json:"owner,omitempty"`
	State      string  `json:"state,omitempty"`
	Code       *string `json:"code,omitempty"` // "" is success
	// Approved is what was said.
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"` // of a removal

	Claimed  *time.Time `json:"claimed,omitempty"`
	Started  *time.Time `json:"started,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
	Asked    *time.Time `json:"asked,omitempty"`
	Answered *time.Time `json:"answered,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	Removed  *time.Time `json:"removed,omitempty"`
}

// auditRows are the links with what identifies their rows. Neither arguments nor
// results nor turns are read.
const auditRows = `SELECT l.seq, l.kind, l.ref, l.digest, l.hash,
	c.session, c.turn, c.idx, c.run, c.tool, c.effect, c.verdict, c.rule, c.approver, c.owner, c.state, c.code, c.claimed, c.started, c.ended,
	t.session, t.number, t.role, t.created,
	a.session, a.turn, a.idx, a.tool, a.rule, a.approver, a.approved, a.asked, a.answered,
	r.session, r.reason, r.removed,
	s.id, s.parent, s.parent_turn, s.created
	FROM chain AS l
	LEFT JOIN calls AS c ON l.kind = 'call' AND c.seq = l.seq
	LEFT JOIN turns AS t ON l.kind = 'turn' AND t.seq = l.seq
	LEFT JOIN approvals AS a ON l.kind = 'approval' AND a.seq = l.seq
	LEFT JOIN removals AS r ON l.kind = 'removal' AND r.seq = l.seq
	LEFT JOIN sessions AS s ON l.kind = 'session' AND s.seq = l.seq
	ORDER BY l.seq`

// Audit writes the whole chain to w as JSON Lines, an [AuditRow] each, in the order of
// the chain: no arguments, results, or what was said. It writes what is there, and does
// not judge it: [Journal.Verify] does. It is one state of the file, so a slow w keeps
// SQLite from emptying its log.
//
// Whoever has the lines can check the chain, and compare its end with a [Head], by the
// hash of each row:
//
//	hash = SHA-256("callgate journal 1 chain\n" ‖ bytes(before) ‖ place ‖ bytes(kind) ‖ ref ‖ bytes(digest))
//
// Here before is the hash of the row before it, nothing for the first; numbers are 8
// bytes, big-endian; and bytes(x) is the length of x as a number and then x. digest
// covers every column of the row in the same way (the sum functions of this package).
func (j *Journal) Audit(ctx context.Context, w io.Writer) error {
	if _, err := j.Head(ctx); err != nil { // which flushes the spool
		return err
	}
	rows, err := j.read.QueryContext(ctx, auditRows)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer rows.Close()
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for rows.Next() {
		a, err := scanAudit(rows)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if err := lines.Encode(a); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return out.Flush()
}

func scanAudit(s scanner) (a AuditRow, err error) {
	var l link
	var call, turn, said, removed, session AuditRow
	var callTool, effect, verdict, rule, by, owner, state, role, saidTool, saidRule, saidBy, reason, parent *string
	var claimed, started, ended, created, asked, answered, removedAt, begun, parentTurn *int64
	err = s.Scan(&l.seq, &l.kind, &l.ref, &l.digest, &l.hash,
		&call.Session, &call.Turn, &call.Index, &call.Run, &callTool, &effect, &verdict, &rule, &by, &owner, &state, &call.Code, &claimed, &started, &ended,
		&turn.Session, &turn.Turn, &role, &created,
		&said.Session, &said.Turn, &said.Index, &saidTool, &saidRule, &saidBy, &said.Approved, &asked, &answered,
		&removed.Session, &reason, &removedAt,
		&session.Session, &parent, &parentTurn, &begun)
	if err != nil {
		return a, err
	}
	switch {
	case call.Session != nil:
		a = call
		a.Tool, a.Effect, a.Verdict, a.Rule, a.By, a.Owner, a.State = *callTool, *effect, *verdict, *rule, *by, *owner, *state
		a.Claimed, a.Started, a.Ended = moment(claimed), moment(started), moment(ended)
	case turn.Session != nil:
		a = turn
		a.Role, a.Created = *role, moment(created)
	case said.Session != nil:
		a = said
		a.Tool, a.Rule, a.By, a.Asked, a.Answered = *saidTool, *saidRule, *saidBy, moment(asked), moment(answered)
	case removed.Session != nil:
		a = removed
		a.Reason, a.Removed = *reason, moment(removedAt)
	case session.Session != nil:
		a = session
		if a.Parent, a.Created = *parent, moment(begun); a.Parent != "" {
			a.ParentTurn = parentTurn
		}
	default:
		a.Gone = true
	}
	a.Place, a.Kind, a.Ref, a.Digest, a.Hash = l.seq, l.kind, l.ref, hex.EncodeToString(l.digest), hex.EncodeToString(l.hash)
	return a, nil
}

// moment returns the time of a column, nil for 0.
func moment(micro *int64) *time.Time {
	if *micro == 0 {
		return nil
	}
	return new(time.UnixMicro(*micro).UTC())
}
