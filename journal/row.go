package journal

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/callgate/callgate"
)

// A row is a call as it is stored.
type row struct {
	id               int64
	session          string
	turn, index, run int64
	callID           string
	tool, source     string
	toolDigest       string
	effect           string
	arguments        []byte
	digest           []byte // callgate.Execution.Digest
	verdict          string
	rule, reason, by string
	labels           string // JSON, "" for none
	owner            string
	claimed          int64

	started, ended int64
	attempts       int64
	state, code    string
	truncated      bool
	result         []byte // JSON
	seq            int64  // 0 while it is open
	hash           []byte
}

const columns = `id, session, turn, idx, run, call_id, tool, source, tool_digest, effect, arguments, digest, verdict, rule, reason, approver,
	labels, owner, claimed, started, ended, attempts, state, code, truncated, result, coalesce(seq, 0), hash`

type scanner interface{ Scan(...any) error }

func scan(s scanner) (*row, error) {
	r := new(row)
	err := s.Scan(&r.id, &r.session, &r.turn, &r.index, &r.run, &r.callID, &r.tool, &r.source, &r.toolDigest, &r.effect, &r.arguments, &r.digest,
		&r.verdict, &r.rule, &r.reason, &r.by, &r.labels, &r.owner, &r.claimed, &r.started, &r.ended, &r.attempts, &r.state, &r.code, &r.truncated,
		&r.result, &r.seq, &r.hash)
	return r, err
}

// rows reads all rows of a query, within the transaction.
func (w *writer) rows(query string, args ...any) ([]*row, error) {
	s, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	found, err := s.Query(args...)
	if err != nil {
		return nil, err
	}
	return collect(found)
}

func collect(found *sql.Rows) (rows []*row, err error) {
	defer found.Close()
	for found.Next() {
		r, err := scan(found)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

// specFacts are what a row says of its tool.
type specFacts struct{ digest, labels string }

// facts returns what the rows of x say of its tool. A catalog's specs do not change,
// and making a digest costs more than the rest of a claim.
func (j *Journal) facts(spec *callgate.Spec) (specFacts, error) {
	j.mu.Lock()
	f, ok := j.specs[spec]
	j.mu.Unlock()
	if ok {
		return f, nil
	}
	var err error
	if f.digest, err = spec.Digest(); err != nil {
		return f, err
	}
	if len(spec.Labels) > 0 {
		b, err := json.Marshal(spec.Labels) // sorted by key
		if err != nil {
			return f, err
		}
		f.labels = string(b)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.specs) >= 4096 { // of catalogs that are long gone
		clear(j.specs)
	}
	j.specs[spec] = f
	return f, nil
}

// newRow returns the claim of x.
func (j *Journal) newRow(x *callgate.Execution) (*row, error) {
	f, err := j.facts(x.Spec)
	if err != nil {
		return nil, err
	}
	id, d, digest := x.Call.Identity, x.Decision, x.Digest()
	return &row{
		session: id.Session, turn: int64(id.Turn), index: int64(id.Index),
		callID: x.Call.ID, tool: x.Call.Name, source: x.Source, toolDigest: f.digest, effect: x.Effect.String(),
		arguments: append([]byte{}, x.Call.Arguments...), digest: digest[:],
		verdict: d.Verdict.String(), rule: d.Rule, reason: d.Reason, by: d.By, labels: f.labels,
		owner: j.owner.id, claimed: now(),
	}, nil
}

func now() int64 { return time.Now().UnixMicro() }

// settle fills in what became of the call.
func (r *row) settle(res callgate.Result) error {
	b, err := json.Marshal(res)
	if err != nil && len(res.Structured) > 0 {
		res.Structured = nil // it is no JSON, and will not be shown either
		b, err = json.Marshal(res)
	}
	if err != nil {
		return err
	}
	r.ended, r.attempts, r.state, r.code, r.truncated, r.result = now(), int64(res.Attempts), string(res.State), string(res.Code), res.Truncated, b
	return nil
}

// open reports whether the call has not been settled.
func (r *row) open() bool { return r.seq == 0 }

// mayRun reports whether the settled call may run again.
func (r *row) mayRun(e callgate.Effect) bool {
	switch callgate.State(r.state) {
	case callgate.NotStarted:
		return true
	case callgate.Done:
		return false
	}
	return e != callgate.Once && r.effect != callgate.Once.String()
}

// outcome returns the answer that the row holds, for a call with the provider's
// name id.
func (r *row) outcome(id string) (callgate.Outcome, error) {
	var res callgate.Result
	if err := json.Unmarshal(r.result, &res); err != nil {
		return callgate.Outcome{}, fmt.Errorf("row %d holds no result: %w", r.seq, err)
	}
	if string(res.Code) != r.code || string(res.State) != r.state || res.State == "" {
		return callgate.Outcome{}, fmt.Errorf("row %d contradicts itself: it was changed", r.seq)
	}
	res.CallID, res.Recorded = id, true
	out := callgate.Outcome{Result: res}
	if res.Code != "" {
		out.Err = &callgate.Error{Code: res.Code, Message: res.Message, Violations: res.Violations, NotStarted: res.State == callgate.NotStarted}
	}
	return out, nil
}

// link returns the hash of the row after the hash before it: SHA-256 over both
// and every column in the order of columns, each with its length before it.
func (r *row) link(before []byte) []byte {
	h := sha256.New()
	number := func(n int64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:])
	}
	text := func(s []byte) {
		number(int64(len(s)))
		h.Write(s)
	}
	h.Write([]byte("callgate journal 1\n"))
	text(before)
	number(r.seq)
	number(r.id)
	text([]byte(r.session))
	number(r.turn)
	number(r.index)
	number(r.run)
	for _, s := range []string{r.callID, r.tool, r.source, r.toolDigest, r.effect} {
		text([]byte(s))
	}
	text(r.arguments)
	text(r.digest)
	for _, s := range []string{r.verdict, r.rule, r.reason, r.by, r.labels, r.owner} {
		text([]byte(s))
	}
	for _, n := range []int64{r.claimed, r.started, r.ended, r.attempts} {
		number(n)
	}
	text([]byte(r.state))
	text([]byte(r.code))
	if r.truncated {
		number(1)
	} else {
		number(0)
	}
	text(r.result)
	return h.Sum(nil)
}
