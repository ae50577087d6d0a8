package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/llm"
	"github.com/callgate/callgate/session"
)

// A Session is a recorded session, whole. It plays the model ([Session.Model]) and
// the tools ([Session.Tools]) for the test of whatever stands between them, which
// then needs no model, no network and no disk. It is data, and may be built by hand.
type Session struct {
	ID    string
	Turns []journal.Turn   // in their order, those of the session that it was forked from first
	Calls []journal.Record // the newest run of each, in the order of their turns
}

// Read reads a session from the journal. A fork begins with the turns of the session
// that it was forked from, and with their calls.
func Read(ctx context.Context, j *journal.Journal, id string) (Session, error) {
	s := Session{ID: id}
	shared := map[string]map[int]bool{} // the turns of other sessions
	var line []string
	for t, err := range j.Turns(ctx, id) {
		if err != nil {
			return Session{}, fmt.Errorf("replay: %w", err)
		}
		s.Turns = append(s.Turns, t)
		if t.Session == id {
			continue
		}
		if shared[t.Session] == nil {
			shared[t.Session] = map[int]bool{}
			line = append(line, t.Session)
		}
		shared[t.Session][t.Number] = true
	}
	for _, part := range append(line, id) {
		for t, err := range turns(j.Calls(ctx, part)) {
			if err != nil {
				return Session{}, fmt.Errorf("replay: %w", err)
			}
			if part == id || shared[part][t[0].Identity.Turn] {
				s.Calls = append(s.Calls, t...)
			}
		}
	}
	return s, nil
}

// A step is one turn of the model: what it was sent last, and what it answered.
type step struct {
	number   int
	known    bool        // whether sent is all that was sent
	sent     []llm.Block // since its last word
	redacted bool        // sent, before it was recorded
	answer   llm.Response
}

// steps returns the turns of the model. Of a turn in a provider's format its calls
// are known and their results, from their records; so are those of turns that were
// not recorded themselves.
func (s Session) steps() ([]step, error) {
	calls := map[int]turn{}
	for _, r := range s.Calls {
		calls[r.Identity.Turn] = append(calls[r.Identity.Turn], r)
	}
	var steps []step
	next := step{} // what is sent is gathered here
	say := func(number int, answer llm.Response) {
		next.number, next.answer = number, answer
		steps = append(steps, next)
		next = step{}
	}
	// answered gathers the results of a turn from its calls, which have n places.
	answered := func(number, n int) {
		next.known = n > 0 && len(calls[number]) == n
		for _, rec := range calls[number] {
			next.sent = append(next.sent, llm.Block{Type: llm.ResultBlock, Result: new(rec.Result)})
			next.known = next.known && rec.Settled
			next.redacted = next.redacted || rec.Redacted
		}
	}
	sayCalls := func(number int) {
		t := calls[number]
		r := llm.Response{Message: llm.Message{Role: llm.Assistant, Turn: number}, Stop: llm.EndTurn}
		for _, rec := range t {
			r.Message.Blocks, r.Stop = append(r.Message.Blocks, llm.Block{Type: llm.CallBlock, Call: new(callOf(rec))}), llm.ToolUse
		}
		var filtered bool
		if r.Cut, filtered = t.early(); filtered {
			r.Stop = llm.Refusal
		}
		say(number, r)
		answered(number, len(t))
	}
	recorded := map[int]bool{}
	for _, t := range s.Turns {
		recorded[t.Number] = recorded[t.Number] || t.Role == journal.Assistant
	}
	var missing []int // turns of which there are only calls
	for number := range calls {
		if !recorded[number] {
			missing = append(missing, number)
		}
	}
	slices.Sort(missing)
	for _, t := range s.Turns {
		for ; t.Role == journal.Assistant && len(missing) > 0 && missing[0] < t.Number; missing = missing[1:] {
			sayCalls(missing[0])
		}
		if t.Format != session.Format {
			if t.Role == journal.Assistant {
				sayCalls(t.Number)
			}
			continue
		}
		var m llm.Message
		if err := json.Unmarshal(t.Body, &m); err != nil {
			return nil, fmt.Errorf("replay: turn %d of session %s, place %d: %w", t.Number, t.Session, t.Pos, err)
		}
		if t.Role != journal.Assistant {
			if len(m.Results()) > 0 { // they are a message of their own
				next = step{known: true}
			}
			next.known = next.known || len(steps) == 0 || len(steps[len(steps)-1].answer.Message.Calls()) == 0
			next.sent, next.redacted = append(next.sent, m.Blocks...), next.redacted || t.Redacted
			continue
		}
		say(t.Number, llm.Response{Message: m, Stop: llm.StopReason(t.Stop), Cut: llm.StopReason(t.Stop) == llm.MaxTokens,
			Usage: llm.Usage{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite}})
		if n := len(m.Calls()); n > 0 {
			answered(t.Number, n)
		}
	}
	for _, number := range missing {
		sayCalls(number)
	}
	return steps, nil
}
