package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/callgate/callgate"
)

// A Record is what the journal holds of one run of a call.
type Record struct {
	ID         int64 // in the order in which claims reached the database
	Identity   callgate.Identity
	Run        int    // 0, or how often the same call was started before
	CallID     string // the provider's
	Tool       string
	Source     string // of the tool; "" is local
	ToolDigest string // callgate.Spec.Digest
	Effect     string // once, idempotent or read-only
	Arguments  json.RawMessage
	Digest     [sha256.Size]byte // callgate.Call.Digest
	Verdict    string            // deny, ask or allow; who was asked is in Decision.By
	Decision   callgate.Decision // without the verdict
	Labels     map[string]string // of the tool
	Sandbox    string            // the level that programs ran at
	Redacted   bool              // the arguments or the result were, before they were stored
	Claimed    time.Time         // to the microsecond, as the other times are

	// The rest is zero while the call is open: it runs, or its process died and
	// nobody has looked.
	Settled   bool
	Started   time.Time // zero too if the process died before it settled the call
	Ended     time.Time
	Attempts  int
	State     callgate.State
	Code      callgate.Code
	Truncated bool
	Result    callgate.Result
	Artifact  string // id of the whole output, if Result was cut and it was kept
	// ArtifactSum is the artifact's SHA-256, nil if it was not known.
	ArtifactSum []byte
	Place       int64 // in the chain
}

func (r *row) record() (Record, error) {
	rec := Record{
		ID: r.id, Identity: callgate.Identity{Session: r.session, Turn: int(r.turn), Index: int(r.index)}, Run: int(r.run),
		CallID: r.callID, Tool: r.tool, Source: r.source, ToolDigest: r.toolDigest, Effect: r.effect, Arguments: r.arguments,
		Verdict: r.verdict, Decision: callgate.Decision{Rule: r.rule, Reason: r.reason, By: r.by}, Claimed: time.UnixMicro(r.claimed),
		Sandbox: r.sandbox, Redacted: r.redacted,
	}
	copy(rec.Digest[:], r.digest)
	if r.labels != "" {
		if err := json.Unmarshal([]byte(r.labels), &rec.Labels); err != nil {
			return rec, fmt.Errorf("journal: labels of call %s: %w", rec.Identity, err)
		}
	}
	if r.open() {
		return rec, nil
	}
	out, err := r.outcome(r.callID)
	if err != nil {
		return rec, fmt.Errorf("journal: %w", err)
	}
	rec.Settled, rec.Result = true, out.Result
	rec.Result.Recorded = false // as it was answered
	if r.started != 0 {
		rec.Started = time.UnixMicro(r.started)
	}
	rec.Ended, rec.Attempts, rec.Truncated = time.UnixMicro(r.ended), int(r.attempts), r.truncated
	rec.State, rec.Code = callgate.State(r.state), callgate.Code(r.code)
	rec.Artifact, rec.Place = r.artifact, r.seq
	if len(r.artifactSum) > 0 {
		rec.ArtifactSum = r.artifactSum
	}
	return rec, nil
}

// ErrNoCall is the error of a call that there is no record of.
var ErrNoCall = errors.New("there is no such call")

// Call returns one run of a call, the last one if run is below 0.
func (j *Journal) Call(ctx context.Context, id callgate.Identity, run int) (Record, error) {
	if err := j.flush(); err != nil {
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	if run < 0 {
		run = math.MaxInt
	}
	r, err := scan(j.read.QueryRowContext(ctx, `SELECT `+columns+` FROM calls WHERE session = ? AND turn = ? AND idx = ? AND run <= ? ORDER BY run DESC LIMIT 1`, id.Session, id.Turn, id.Index, run))
	if errors.Is(err, sql.ErrNoRows) || err == nil && run < math.MaxInt && int(r.run) != run {
		return Record{}, fmt.Errorf("journal: call %s: %w", id, ErrNoCall)
	} else if err != nil {
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	return r.record()
}

// Calls yields the calls of a session by turn, index and run. It ends after the
// first error.
func (j *Journal) Calls(ctx context.Context, session string) iter.Seq2[Record, error] {
	return j.pages(ctx, bySession(session))
}

// A query returns the condition and order of the rows after one, or of the first
// if it is nil.
type query func(after *row) (where string, args []any)

func bySession(session string) query {
	return func(after *row) (string, []any) {
		turn, index, run := int64(math.MinInt64), int64(math.MinInt64), int64(-1)
		if after != nil {
			turn, index, run = after.turn, after.index, after.run
		}
		return `WHERE session = ? AND (turn, idx, run) > (?, ?, ?) ORDER BY turn, idx, run`, []any{session, turn, index, run}
	}
}

// Tool yields the calls of a tool in the order in which their claims reached the
// database: reads of held sessions come some time after they were claimed. It ends
// after the first error.
func (j *Journal) Tool(ctx context.Context, tool string) iter.Seq2[Record, error] {
	return j.pages(ctx, byTool(tool))
}

func byTool(tool string) query {
	return func(after *row) (string, []any) {
		if after != nil {
			return `WHERE tool = ? AND id > ? ORDER BY id`, []any{tool, after.id}
		}
		return `WHERE tool = ? ORDER BY id`, []any{tool}
	}
}

// pageSize is the number of rows that are read at once: a reader who takes his
// time must not keep SQLite from emptying its log.
const pageSize = 128

// pages yields the rows of q, a page at a time.
func (j *Journal) pages(ctx context.Context, q query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := j.flush(); err != nil {
			yield(Record{}, fmt.Errorf("journal: %w", err))
			return
		}
		var last *row
		for {
			where, args := q(last)
			found, err := j.read.QueryContext(ctx, `SELECT `+columns+` FROM calls `+where+` LIMIT `+fmt.Sprint(pageSize), args...)
			var page []*row
			if err == nil {
				page, err = collect(found)
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("journal: %w", err))
				return
			}
			for _, r := range page {
				rec, err := r.record()
				if !yield(rec, err) || err != nil {
					return
				}
				last = r
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}
