// Package agent is the loop: ask the model, dispatch what it proposes, give it
// the results, until it proposes nothing. The loop knows no tool by name: adding
// a tool does not change it.
package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/llm"
)

// An Agent runs conversations. Its fields must not be changed while it runs; Run
// is safe for concurrent use if Model and the functions are.
type Agent struct {
	Model llm.Model
	// Tools is asked before each turn: what it returns is shown to the model,
	// and the calls of that turn are checked against it. Nil means no tools.
	Tools func() *callgate.Catalog
	Gate  *callgate.Dispatcher // nil means one that runs read-only local tools only

	System  string
	Session string // names the session in the identity of its calls; "" means that nobody remembers them

	MaxTurns  int              // turns of the model in one Run; 0 means 50
	MaxTokens int              // of the output of one turn; 0 means the model's default
	Budget    *callgate.Budget // what the session may use; nil means no limit

	// OnResponse, if set, is given each answer of the model with the number of its
	// turn, before its message joins the history: what it proposes has its ids and
	// has not run. An error ends the run, and nothing of it runs.
	OnResponse func(ctx context.Context, turn int, r llm.Response) error
	// OnMessage, if set, is given each message when it joins the history and
	// before anything else happens: before any call of it runs, or before its
	// results are sent. An error ends the run; nothing that it would have led
	// to happens.
	OnMessage func(ctx context.Context, m llm.Message) error
}

// A Reason says why a run ended.
type Reason string

const (
	FinalAnswer Reason = "final_answer" // the model proposed no calls
	MaxTokens   Reason = "max_tokens"   // the model's answer was cut off and proposed no calls
	MaxTurns    Reason = "max_turns"    // the model still proposed calls in its last turn; they were answered
	Budget      Reason = "budget"       // the session's budget is used up; with no calls left the model had one more turn to finish
	Canceled    Reason = "canceled"     // ctx ended; every call has its result
)

// An Outcome is how a run ended.
type Outcome struct {
	Reason   Reason // empty beside an error
	Messages []llm.Message
	Text     string // of the model's last message
	Usage    llm.Usage
}

// Run continues history until the model proposes no more calls. Outcome.Messages
// is history and what the run added to it; it can be continued in any case. An
// error means that the model, OnResponse or OnMessage failed.
//
// Whether the run goes on is decided by the presence of calls, not by the word
// with which the model stopped. All results of a turn go back as one message, in
// the order of the calls. A turn that was cut off by the output limit runs
// nothing; its results say so.
func (a *Agent) Run(ctx context.Context, history []llm.Message) (Outcome, error) {
	out := Outcome{Messages: slices.Clip(history)}
	add := func(m llm.Message) error {
		out.Messages = append(out.Messages, m)
		if a.OnMessage != nil {
			return a.OnMessage(ctx, m)
		}
		return nil
	}
	end := func(reason Reason) (Outcome, error) {
		out.Reason = reason
		return out, nil
	}
	gate := a.Gate
	if gate == nil {
		gate = new(callgate.Dispatcher)
	}
	number, finishing := lastTurn(history), false
	for range cmp.Or(max(a.MaxTurns, 0), 50) {
		if a.Budget != nil && a.Budget.Exceeded() != nil {
			// A model that has used up its calls may still say what it found.
			if calls, _, _ := a.Budget.Used(); finishing || a.Budget.Calls == 0 || calls < a.Budget.Calls {
				return end(Budget)
			}
			finishing = true
		}
		tools := new(callgate.Catalog)
		if a.Tools != nil {
			tools = cmp.Or(a.Tools(), tools)
		}
		number++
		resp, err := a.Model.Generate(ctx, llm.Request{System: a.System, Messages: out.Messages, Catalog: tools, MaxTokens: a.MaxTokens})
		if ctx.Err() != nil && err != nil {
			return end(Canceled)
		}
		if err != nil {
			return out, fmt.Errorf("agent: turn %d: %w", number, err)
		}
		out.Usage = out.Usage.Add(resp.Usage)
		if a.Budget != nil {
			a.Budget.Spend(resp.Usage.Total())
		}
		msg := resp.Message.WithIDs()
		msg.Role, msg.Turn = llm.Assistant, number
		resp.Message, out.Text = msg, msg.Text()
		if a.OnResponse != nil {
			if err := a.OnResponse(ctx, number, resp); err != nil {
				return out, fmt.Errorf("agent: turn %d was not kept, so none of its calls ran: %w", number, err)
			}
		}
		if err := add(msg); err != nil {
			return out, fmt.Errorf("agent: turn %d was not kept, so none of its calls ran: %w", number, err)
		}
		turn := resp.Turn(a.Session, number)
		switch {
		case len(turn.Calls) > 0:
		case resp.Stop == llm.Paused:
			continue
		case resp.Cut:
			return end(MaxTokens)
		default:
			return end(FinalAnswer)
		}
		results := llm.Results(gate.Dispatch(ctx, tools, turn))
		results.Turn = number
		if err := add(results); err != nil {
			return out, fmt.Errorf("agent: the results of turn %d were not kept: %w", number, err)
		}
		if ctx.Err() != nil {
			return end(Canceled)
		}
	}
	return end(MaxTurns)
}

// lastTurn returns the number of the last turn in history, so that numbers go up
// for as long as a session lasts, even if its beginning was cut off.
func lastTurn(history []llm.Message) int {
	last := 0
	for _, m := range history {
		last = max(last, m.Turn)
	}
	return last
}
