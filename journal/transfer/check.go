package transfer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"strconv"
	"strings"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
)

// maxTime is the last microsecond of the year 9999.
const maxTime = 253402300799999999

// The parts of a session in a file, and what follows all sessions.
const (
	inTurns = iota
	inApprovals
	inCalls
	inArtifacts
)

// A checker holds the lines of a file to the rules, one after another. Its memory is
// the names of artifacts and the numbers of the model's turns.
type checker struct {
	sessions []Session
	upTo     []int64 // the last turn that is shared with the next session
	at       int     // session
	stage    int
	pos      int64          // of the turn that comes next
	numbers  map[int64]bool // of the model's turns in the session
	approval place          // the last one
	call     place
	run      int64
	sums     map[string]string // of the artifacts that calls name, "" if it was not known
	artifact *Artifact
	left     int64 // bytes of the artifact that are still to come
	sum      hash.Hash
	count    end
}

// A place is that of a call in its session.
type place struct{ turn, index int64 }

func (p place) before(q place) bool {
	return p.turn < q.turn || p.turn == q.turn && p.index < q.index
}

var nowhere = place{math.MinInt64, -1}

func newChecker(h Header) (*checker, error) {
	if n, sum, _ := strings.Cut(h.Head, ":"); !isDigest(sum) || !isCount(n) {
		return nil, fmt.Errorf("the head %q is none", h.Head)
	}
	if len(h.Sessions) == 0 || len(h.Sessions) > MaxSessions {
		return nil, fmt.Errorf("it has %d sessions, want 1 to %d", len(h.Sessions), MaxSessions)
	}
	c := &checker{sessions: h.Sessions, upTo: make([]int64, len(h.Sessions)), sums: map[string]string{}}
	names := map[Text]bool{}
	for i, s := range h.Sessions {
		switch {
		case s.ID == "":
			return nil, errors.New("a session has no name")
		case names[s.ID]:
			return nil, fmt.Errorf("two sessions are named %q", s.ID)
		case i == 0 && s.ParentTurn != 0:
			return nil, fmt.Errorf("session %q was forked from one that is not there", s.ID)
		}
		if err := times(s.Created, s.Updated); err != nil {
			return nil, fmt.Errorf("session %q: %w", s.ID, err)
		}
		names[s.ID] = true
	}
	shared := int64(math.MaxInt64)
	for i := len(h.Sessions) - 1; i >= 0; i-- {
		c.upTo[i] = shared
		shared = min(shared, h.Sessions[i].ParentTurn)
	}
	c.enter(0)
	return c, nil
}

func isCount(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && hex.EncodeToString(b) == s
}

func times(list ...int64) error {
	for _, t := range list {
		if t < 0 || t > maxTime {
			return fmt.Errorf("the time %d is out of range", t)
		}
	}
	return nil
}

func (c *checker) enter(session int) {
	c.at, c.stage, c.pos, c.numbers = session, inTurns, 0, map[int64]bool{}
	c.approval, c.call = nowhere, nowhere
}

// item checks a line.
func (c *checker) item(it Item) error {
	set := 0
	for _, yes := range []bool{it.Turn != nil, it.Approval != nil, it.Call != nil, it.Artifact != nil, it.Piece != nil} {
		if yes {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("it says %d things, want one", set)
	case it.Piece != nil:
		return c.piece(it.Piece)
	case c.left > 0:
		return fmt.Errorf("%d bytes of the artifact %s are missing", c.left, c.artifact.ID)
	case it.Turn != nil:
		return c.turn(it.Turn)
	case it.Approval != nil:
		return c.said(it.Approval)
	case it.Call != nil:
		return c.ran(it.Call)
	}
	return c.whole(it.Artifact)
}

// step goes on to a stage of a session, with what belongs to the turn.
func (c *checker) step(session Text, stage int, turn int64, what string) error {
	for c.at < len(c.sessions)-1 && c.sessions[c.at].ID != session {
		c.enter(c.at + 1)
	}
	switch {
	case c.sessions[c.at].ID != session:
		return fmt.Errorf("%s of session %q is not in its place, or the first line does not name that", what, session)
	case stage < c.stage:
		return fmt.Errorf("%s of session %q is not in its place", what, session)
	case turn > c.upTo[c.at]:
		return fmt.Errorf("%s of session %q belongs to turn %d; the next session was forked from it after turn %d", what, session, turn, c.upTo[c.at])
	}
	c.stage = stage
	return nil
}

func (c *checker) turn(t *Turn) error {
	what := fmt.Sprintf("turn %d", t.Number)
	if err := c.step(t.Session, inTurns, t.Number, what); err != nil {
		return err
	}
	if err := times(t.Created); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	body := sha256.Sum256([]byte(t.Body))
	switch {
	case t.Pos != c.pos:
		return fmt.Errorf("%s has place %d, want %d", what, t.Pos, c.pos)
	case t.Role == "assistant" && c.numbers[t.Number]:
		return fmt.Errorf("%s of the model is there twice", what)
	case !isDigest(t.Digest):
		return fmt.Errorf("%s: the digest %q is none", what, t.Digest)
	case !t.Redacted && t.Digest != hex.EncodeToString(body[:]):
		return fmt.Errorf("%s: its digest is not that of its body", what)
	}
	if t.Role == "assistant" {
		c.numbers[t.Number] = true
	}
	c.pos++
	c.count.Turns++
	return nil
}

func (c *checker) said(a *Approval) error {
	p := place{a.Turn, a.Index}
	what := fmt.Sprintf("the approval of call %d/%d", a.Turn, a.Index)
	if err := c.step(a.Session, inApprovals, a.Turn, what); err != nil {
		return err
	}
	if err := times(a.Asked, a.Answered); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch {
	case a.Index < 0 || a.Index > math.MaxInt32:
		return fmt.Errorf("%s: the index is out of range", what)
	case p.before(c.approval):
		return fmt.Errorf("%s is not in its place", what)
	case !isDigest(a.Digest):
		return fmt.Errorf("%s: the digest %q is none", what, a.Digest)
	}
	c.approval = p
	c.count.Approvals++
	return nil
}

func (c *checker) ran(k *Call) error {
	p := place{k.Turn, k.Index}
	what := fmt.Sprintf("call %d/%d", k.Turn, k.Index)
	if err := c.step(k.Session, inCalls, k.Turn, what); err != nil {
		return err
	}
	switch {
	case k.Index < 0 || k.Index > math.MaxInt32:
		return fmt.Errorf("%s: the index is out of range", what)
	case p.before(c.call):
		return fmt.Errorf("%s is not in its place", what)
	case c.call.before(p) && k.Run != 0, p == c.call && k.Run != c.run+1:
		return fmt.Errorf("%s: run %d does not come next", what, k.Run)
	}
	if err := k.check(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if k.Artifact != "" {
		if sum, known := c.sums[k.Artifact]; known && sum != k.ArtifactSum {
			return fmt.Errorf("%s: another call says another digest of the artifact %s", what, k.Artifact)
		}
		c.sums[k.Artifact] = k.ArtifactSum
	}
	c.call, c.run = p, k.Run
	c.count.Calls++
	return nil
}

// check checks what a call says, wherever it is.
func (k *Call) check() error {
	if err := times(k.Claimed, k.Started, k.Ended); err != nil {
		return err
	}
	digest := callgate.Call{Name: string(k.Tool), Arguments: json.RawMessage(k.Arguments)}.Digest()
	switch {
	case k.State == "":
		return errors.New("it is open; only what has been settled can be carried over")
	case !isState(k.State):
		return fmt.Errorf("the state %q is unknown", k.State)
	case !isCode(k.Code):
		return fmt.Errorf("the code %q is unknown", k.Code)
	case !isEffect(k.Effect):
		return fmt.Errorf("the effect %q is unknown", k.Effect)
	case !isVerdict(k.Verdict):
		return fmt.Errorf("the verdict %q is unknown", k.Verdict)
	case k.Attempts < 0 || k.Attempts > math.MaxInt32:
		return fmt.Errorf("%d attempts are out of range", k.Attempts)
	case !isDigest(k.Digest):
		return fmt.Errorf("the digest %q is none", k.Digest)
	case !k.Redacted && k.Digest != hex.EncodeToString(digest[:]):
		return errors.New("its digest is not that of its tool and arguments")
	case k.Labels != "" && !isLabels(k.Labels):
		return errors.New("its labels are no object of strings")
	}
	var res callgate.Result
	if err := json.Unmarshal([]byte(k.Result), &res); err != nil {
		return fmt.Errorf("its result cannot be read: %w", err)
	}
	id, err := artifact.ParseRef(res.Artifact)
	if err != nil {
		id = "" // the name of something else
	}
	switch {
	case string(res.Code) != k.Code || string(res.State) != k.State:
		return errors.New("its result has another code or state than it")
	case id != k.Artifact:
		return errors.New("its result names another artifact than it")
	case k.ArtifactSum != "" && (k.Artifact == "" || !isDigest(k.ArtifactSum)):
		return fmt.Errorf("the digest %q of its artifact is none", k.ArtifactSum)
	}
	return nil
}

func isState(s string) bool {
	switch callgate.State(s) {
	case callgate.Done, callgate.NotStarted, callgate.Unknown, callgate.Stopped:
		return true
	}
	return false
}

func isCode(s string) bool {
	for _, c := range callgate.Codes() {
		if string(c.Code) == s {
			return true
		}
	}
	return false
}

func isEffect(s string) bool {
	return s == callgate.Once.String() || s == callgate.Idempotent.String() || s == callgate.ReadOnly.String()
}

func isVerdict(s string) bool {
	return s == callgate.Deny.String() || s == callgate.Ask.String() || s == callgate.Allow.String()
}

func (c *checker) whole(a *Artifact) error {
	sum, named := c.sums[a.ID]
	switch {
	case !named:
		return fmt.Errorf("no call names the artifact %q, or it is there twice", a.ID)
	case a.SHA256 != sum || sum == "":
		return fmt.Errorf("the artifact %s has another digest than its call says, or the call says none", a.ID)
	case a.Size < 0:
		return fmt.Errorf("the artifact %s has %d bytes", a.ID, a.Size)
	}
	delete(c.sums, a.ID)
	c.stage, c.artifact, c.left, c.sum = inArtifacts, a, a.Size, sha256.New()
	c.at = len(c.sessions) - 1 // nothing of a session comes after it
	c.count.Artifacts++
	return c.complete()
}

func (c *checker) piece(data []byte) error {
	if want := min(c.left, PieceSize); want == 0 || int64(len(data)) != want {
		return fmt.Errorf("a piece of an artifact has %d bytes, want %d", len(data), want)
	}
	c.sum.Write(data)
	c.left -= int64(len(data))
	return c.complete()
}

// complete compares the digest of an artifact when its last byte has come.
func (c *checker) complete() error {
	if c.left == 0 && hex.EncodeToString(c.sum.Sum(nil)) != c.artifact.SHA256 {
		return fmt.Errorf("the artifact %s does not have the digest that is said of it", c.artifact.ID)
	}
	return nil
}

// done checks that nothing is missing where the last line is.
func (c *checker) done() error {
	if c.left > 0 {
		return fmt.Errorf("%d bytes of the artifact %s are missing", c.left, c.artifact.ID)
	}
	return nil
}
