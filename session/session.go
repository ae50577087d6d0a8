// Package session keeps an agent's conversation in a journal, so that it can be
// continued after any crash, or forked from any of its turns.
//
// What the user and the model said is stored as it was said; results of calls are
// not stored a second time but taken from the journal's rows of the calls. So the
// history of a session is a function of the journal ([Project]), and every call in
// it has exactly one result, whatever was lost: a call that may have run says so, one
// that never started says that.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
)

// Format is the format of the turns that this package stores: a message of package
// llm as JSON.
const Format = "llm"

// A Conversation is a session that this process continues. It is safe for
// concurrent use.
type Conversation struct {
	held    *journal.Session
	history []llm.Message // when it was opened

	mu   sync.Mutex
	turn int // the newest
}

// Begin begins the session id. One that has turns already is an error: it is to be
// resumed.
func Begin(ctx context.Context, j *journal.Journal, id string, about journal.About) (*Conversation, error) {
	held, err := j.Begin(id, about)
	if err != nil {
		return nil, err
	}
	c := &Conversation{held: held}
	if err := c.load(ctx, j); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	if about.Parent == "" && len(c.history) > 0 {
		return nil, errors.Join(fmt.Errorf("session %s exists already; resume it, or name another", id), held.Release())
	}
	return c, nil
}

// Resume continues the session id where it was left.
func Resume(ctx context.Context, j *journal.Journal, id string) (*Conversation, error) {
	held, err := j.Resume(id)
	if err != nil {
		return nil, err
	}
	c := &Conversation{held: held}
	if err := c.load(ctx, j); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return c, nil
}

// Fork begins the session id as a continuation of another one after one of its
// turns, with the answers to its calls; below 0 it is the last turn. The other one
// stays as it is. Nothing that ran there runs again.
func Fork(ctx context.Context, j *journal.Journal, from string, turn int, id string, about journal.About) (*Conversation, error) {
	if _, err := j.SessionInfo(ctx, id); !errors.Is(err, journal.ErrNoSession) {
		return nil, errors.Join(err, fmt.Errorf("session %s exists already; name another for the fork", id))
	}
	last := 0
	for t, err := range j.Turns(ctx, from) {
		if err != nil {
			return nil, err
		}
		if t.Role == journal.Assistant {
			last = t.Number
		}
	}
	if turn < 0 {
		turn = last
	}
	if turn > last {
		return nil, fmt.Errorf("session %s has no turn %d; its last one is %d", from, turn, last)
	}
	about.Parent, about.ParentTurn = from, turn
	return Begin(ctx, j, id, about)
}

// ErrNone is the error of [Latest] if there is no session to continue.
var ErrNone = errors.New("there is no session to continue")

// Latest returns the session of a workspace with the newest turn that an agent had.
// While a process holds it, that is [journal.ErrInUse]: an older one is not what
// somebody who goes on with the last one means.
func Latest(ctx context.Context, j *journal.Journal, workspace string) (string, error) {
	for info, err := range j.Sessions(ctx) {
		if err != nil {
			return "", err
		}
		if info.Workspace != workspace {
			continue
		}
		for t, err := range j.Turns(ctx, info.ID) {
			if err != nil {
				return "", err
			}
			switch {
			case t.Format != Format:
			case info.InUse:
				return info.ID, fmt.Errorf("session %s: %w", info.ID, journal.ErrInUse)
			default:
				return info.ID, nil
			}
			break
		}
	}
	return "", ErrNone
}

// ID returns the name of the session.
func (c *Conversation) ID() string { return c.held.ID() }

// History returns what had been said when the conversation was opened.
func (c *Conversation) History() []llm.Message { return c.history }

// Close lets others have the session.
func (c *Conversation) Close() error { return c.held.Release() }

func (c *Conversation) load(ctx context.Context, j *journal.Journal) (err error) {
	var turns []journal.Turn
	for t, err := range j.Turns(ctx, c.ID()) {
		if err != nil {
			return err
		}
		turns = append(turns, t)
		if t.Role == journal.Assistant {
			c.turn = t.Number
		}
	}
	records, err := recordsOf(ctx, j, turns)
	if err != nil {
		return err
	}
	c.history, err = Project(turns, records)
	return err
}

// Say adds what the user says to the session, on disk when it returns.
func (c *Conversation) Say(m llm.Message) error {
	c.mu.Lock()
	next := c.turn + 1
	c.mu.Unlock()
	m.Turn = 0
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.held.Append(&journal.Turn{Number: next, Role: string(m.Role), Format: Format, Body: body})
}

// Keep adds an answer of the model to the session, on disk when it returns. It is
// meant for the OnResponse of an agent.
func (c *Conversation) Keep(_ context.Context, turn int, r llm.Response) error {
	body, err := json.Marshal(r.Message)
	if err != nil {
		return err
	}
	u := r.Usage
	if err := c.held.Append(&journal.Turn{Number: turn, Role: journal.Assistant, Format: Format, Body: body, Stop: string(r.Stop),
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = turn
	return nil
}

// Records are the newest runs of the calls of some turns.
type Records map[callgate.Identity]journal.Record

func recordsOf(ctx context.Context, j *journal.Journal, turns []journal.Turn) (Records, error) {
	records := Records{}
	seen := map[string]bool{}
	for _, t := range turns {
		if seen[t.Session] {
			continue
		}
		seen[t.Session] = true
		for r, err := range j.Calls(ctx, t.Session) {
			if err != nil {
				return nil, err
			}
			records[r.Identity] = r // in the order of the runs
		}
	}
	return records, nil
}

// Project returns the messages that turns and the records of their calls make. It is
// pure. Each call has one result, in the order of the calls; what is not in the
// records was not started. The first turn that is not an agent's is an error.
func Project(turns []journal.Turn, records Records) ([]llm.Message, error) {
	var history []llm.Message
	for _, t := range turns {
		if t.Format != Format {
			return nil, fmt.Errorf("turn %d of session %s was not an agent's (its format is %q): only its calls are known, so it cannot be continued by one", t.Number, t.Session, t.Format)
		}
		var m llm.Message
		if err := json.Unmarshal(t.Body, &m); err != nil {
			return nil, fmt.Errorf("turn %d of session %s cannot be read: %w", t.Number, t.Session, err)
		}
		if t.Role != journal.Assistant {
			history = append(history, m)
			continue
		}
		m.Turn = t.Number
		history = append(history, m)
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		results := make([]callgate.Result, len(calls))
		for i, c := range calls {
			results[i] = resultOf(records, callgate.Identity{Session: t.Session, Turn: t.Number, Index: i}, c)
		}
		answer := llm.Results(results)
		answer.Turn = t.Number
		history = append(history, answer)
	}
	return history, nil
}

// resultOf returns the answer to a call that the records hold.
func resultOf(records Records, id callgate.Identity, c callgate.Call) callgate.Result {
	r, ok := records[id]
	switch {
	case !ok:
		return callgate.Result{CallID: c.ID, Tool: c.Name, Code: callgate.Canceled, State: callgate.NotStarted,
			Message: "the session was interrupted before this call started; nothing was done"}
	case !r.Settled:
		return callgate.Result{CallID: c.ID, Tool: c.Name, Code: callgate.OutcomeUnknown, State: callgate.Unknown,
			Message: "the session was interrupted while this call ran; " + callgate.OutcomeUnknown.Info().Advice}
	}
	res := r.Result
	res.CallID = c.ID
	return res
}
