package journal

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
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
	digest           []byte // callgate.Call.Digest, of the arguments before they were redacted
	redacted         bool   // the arguments or the result
	verdict          string
	rule, reason, by string
	labels           string // JSON, "" for none
	sandbox          string
	owner            string
	claimed          int64

	started, ended int64
	attempts       int64
	state, code    string
	truncated      bool
	result         []byte // JSON
	artifact       string // id of the whole output, "" for none
	artifactSum    []byte
	seq            int64 // 0 while it is open

	entry   *entry // of the spool, if it goes that way
	pending bool   // settled in the spool, and not in the chain yet
}

const columns = `id, session, turn, idx, run, call_id, tool, source, tool_digest, effect, arguments, digest, redacted, verdict, rule, reason, approver,
	labels, sandbox, owner, claimed, started, ended, attempts, state, code, truncated, result, artifact, artifact_sum, coalesce(seq, 0)`

type scanner interface{ Scan(...any) error }

func scan(s scanner) (*row, error) {
	r := new(row)
	err := s.Scan(&r.id, &r.session, &r.turn, &r.index, &r.run, &r.callID, &r.tool, &r.source, &r.toolDigest, &r.effect, &r.arguments, &r.digest, &r.redacted,
		&r.verdict, &r.rule, &r.reason, &r.by, &r.labels, &r.sandbox, &r.owner, &r.claimed, &r.started, &r.ended, &r.attempts, &r.state, &r.code, &r.truncated,
		&r.result, &r.artifact, &r.artifactSum, &r.seq)
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

// newRow returns the claim of x, which has the digest.
func (j *Journal) newRow(x *callgate.Execution, digest [sha256.Size]byte) (*row, error) {
	f, err := j.facts(x.Spec)
	if err != nil {
		return nil, err
	}
	r := j.rowOf(x.Call, digest, f, x.Decision)
	r.source, r.effect = x.Source, x.Effect.String()
	return r, nil
}

// rowOf returns the claim of a call of which digest, f and d are known.
func (j *Journal) rowOf(c callgate.Call, digest [sha256.Size]byte, f specFacts, d callgate.Decision) *row {
	id := c.Identity
	args, redacted := j.redact(c.Arguments)
	return &row{
		session: id.Session, turn: int64(id.Turn), index: int64(id.Index),
		callID: j.redactText(c.ID), tool: j.redactText(c.Name), toolDigest: f.digest, arguments: args, digest: digest[:], redacted: redacted,
		verdict: d.Verdict.String(), rule: d.Rule, reason: j.redactText(d.Reason), by: d.By, labels: f.labels,
		sandbox: j.opts.Sandbox, owner: j.owner.id, claimed: now(),
	}
}

func now() int64 { return time.Now().UnixMicro() }

// settle fills in what became of the call.
func (j *Journal) settleRow(r *row, res callgate.Result) error {
	if j.redactResult(&res) {
		r.redacted = true
	}
	b, err := res.MarshalJSON() // json.Marshal would look at it twice
	if err != nil && len(res.Structured) > 0 {
		res.Structured = nil // it is no JSON, and will not be shown either
		b, err = res.MarshalJSON()
	}
	if err != nil {
		return err
	}
	r.ended, r.attempts, r.state, r.code, r.truncated, r.result = now(), int64(res.Attempts), string(res.State), string(res.Code), res.Truncated, b
	r.artifact, r.artifactSum = j.artifactOf(res)
	return nil
}

// artifactOf names the whole output of a result that was cut, and its digest if the
// store has it.
func (j *Journal) artifactOf(res callgate.Result) (id string, sum []byte) {
	if res.Artifact == "" {
		return "", []byte{}
	}
	id, err := artifact.ParseRef(res.Artifact)
	if err != nil {
		return "", []byte{}
	}
	if j.opts.Artifacts != nil {
		if a, err := j.opts.Artifacts.Stat(id); err == nil {
			sum = a.SHA256[:]
		}
	}
	return id, append([]byte{}, sum...)
}

// settledAs takes what became of the call from another row of the same claim.
func (r *row) settledAs(o *row) {
	r.started, r.ended, r.attempts, r.state, r.code, r.truncated = o.started, o.ended, o.attempts, o.state, o.code, o.truncated
	r.result, r.redacted, r.artifact, r.artifactSum = o.result, o.redacted, o.artifact, o.artifactSum
}

// open reports whether the call has not been settled.
func (r *row) open() bool { return r.seq == 0 && !r.pending }

func (r *row) identity() callgate.Identity {
	return callgate.Identity{Session: r.session, Turn: int(r.turn), Index: int(r.index)}
}

// refused reports whether the call never reached the executor ([Journal.Observer]):
// to have been seen changes nothing for the one that is submitted in its place.
func (r *row) refused() bool {
	return !r.open() && r.state == string(callgate.NotStarted) && r.started == 0
}

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

// sum covers every column but the place in the chain.
func (r *row) sum() []byte {
	s := newSum(kindCall)
	s.numbers(r.id)
	s.texts(r.session)
	s.numbers(r.turn, r.index, r.run)
	s.texts(r.callID, r.tool, r.source, r.toolDigest, r.effect)
	s.bytes(r.arguments, r.digest)
	s.flag(r.redacted)
	s.texts(r.verdict, r.rule, r.reason, r.by, r.labels, r.sandbox, r.owner)
	s.numbers(r.claimed, r.started, r.ended, r.attempts)
	s.texts(r.state, r.code)
	s.flag(r.truncated)
	s.bytes(r.result)
	s.texts(r.artifact)
	s.bytes(r.artifactSum)
	return s.done()
}

func (r *row) what() string {
	return fmt.Sprintf("call %s/%d/%d, tool %s", r.session, r.turn, r.index, r.tool)
}
