package replay

import (
	"fmt"
	"iter"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
	"github.com/callgate/callgate/schema"
)

// A turn is the newest run of each call that was recorded of a turn, by index.
// Calls may be missing: what is refused is recorded as far as that is possible.
type turn []journal.Record

// maxIndex bounds the places of calls in a turn, which are counted from 0. A turn
// of 64 MiB has fewer.
const maxIndex = 4 << 20

// turns yields the turns of a session's records, which come by turn, index and run.
// It ends after the first error.
func turns(records iter.Seq2[journal.Record, error]) iter.Seq2[turn, error] {
	return func(yield func(turn, error) bool) {
		var t turn
		for r, err := range records {
			if err == nil {
				err = credible(r)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			switch last := len(t) - 1; {
			case last >= 0 && t[last].Identity == r.Identity:
				t[last] = r
			case last >= 0 && t[last].Identity.Turn != r.Identity.Turn:
				if !yield(t, nil) {
					return
				}
				t = turn{r}
			default:
				t = append(t, r)
			}
		}
		if len(t) > 0 {
			yield(t, nil)
		}
	}
}

// credible returns an error for a record that the journal did not write.
func credible(r journal.Record) error {
	if r.Identity.Index < 0 || r.Identity.Index > maxIndex {
		return fmt.Errorf("replay: call %s: there is no such place in a turn; the journal was changed, callgate audit verify says where", r.Identity)
	}
	if !r.Redacted && redacted(r) {
		return fmt.Errorf("replay: call %s: its arguments are not those whose digest was recorded; the journal was changed, callgate audit verify says where", r.Identity)
	}
	return nil
}

// callOf returns the call that was recorded.
func callOf(r journal.Record) callgate.Call {
	return callgate.Call{ID: r.CallID, Name: r.Tool, Arguments: r.Arguments}
}

// redacted reports whether the arguments are not the ones that the call had.
func redacted(r journal.Record) bool { return callOf(r).Digest() != r.Digest }

// again returns the turn as it was submitted. In place of calls that are missing
// stand calls of no tool.
func (t turn) again() callgate.Turn {
	last := t[len(t)-1].Identity
	a := callgate.Turn{Session: last.Session, Number: last.Turn, Calls: make([]callgate.Call, last.Index+1)}
	a.Cut, a.Filtered = t.early()
	for _, r := range t {
		a.Calls[r.Identity.Index] = callOf(r)
	}
	return a
}

// early reports whether the provider ended the turn before it was whole, at its
// limit or by its safety rules: every call was refused as malformed, with the words
// of such a turn, or though there is one whose arguments are strict JSON, which is
// taken for a cut. What is malformed does not depend on a tool.
func (t turn) early() (cut, filtered bool) {
	for _, r := range t {
		if refusedThen(r) != callgate.MalformedArguments {
			return false, false
		}
	}
	for _, r := range t {
		switch {
		case r.Result.Message == cutOff:
			return true, false
		case r.Result.Message == filteredOut:
			return false, true
		case len(r.Arguments) == 0 || schema.Strict(r.Arguments) == nil:
			cut = true
		}
	}
	return cut, false
}

// The words with which the gate refuses the calls of such turns.
var (
	cutOff      = refusalOf(callgate.Turn{Calls: make([]callgate.Call, 1), Cut: true})
	filteredOut = refusalOf(callgate.Turn{Calls: make([]callgate.Call, 1), Filtered: true})
)

func refusalOf(t callgate.Turn) string {
	var none *callgate.Catalog
	return none.Plan(t)[0].Refusal.Message
}

// refusedThen returns the code with which the plan refused the recorded call, ""
// if it did not. The rules deny with other codes, and they say nothing about what
// the plan refused.
func refusedThen(r journal.Record) callgate.Code {
	if r.Settled && r.State == callgate.NotStarted && r.Attempts == 0 && r.Verdict == callgate.Deny.String() && byPlan(r.Code) {
		return r.Code
	}
	return ""
}

// refusedNow is the same for a judgement.
func refusedNow(j callgate.Judgement) callgate.Code {
	if j.Refusal != nil && byPlan(j.Refusal.Code) {
		return j.Refusal.Code
	}
	return ""
}

func byPlan(c callgate.Code) bool {
	switch c {
	case callgate.UnknownTool, callgate.InvalidArguments, callgate.MalformedArguments, callgate.BudgetExceeded:
		return true
	}
	return false
}

// A ruling is what the rules said of a call that the plan let pass.
type ruling struct{ verdict, rule string }

func (r ruling) String() string {
	if r.rule == "" {
		return r.verdict
	}
	return r.verdict + " (rule " + r.rule + ")"
}

// rulingOf returns what d says. What a person approved, the rules asked about.
func rulingOf(verdict string, d callgate.Decision) ruling {
	if verdict == callgate.Allow.String() && d.By != "" {
		verdict = callgate.Ask.String()
	}
	return ruling{verdict, d.Rule}
}

// ruledThen returns what the rules said of the recorded call; ok is false if they
// were not asked: the call was refused or stopped before.
func ruledThen(r journal.Record) (_ ruling, ok bool) {
	if r.Verdict == callgate.Deny.String() && r.Code != callgate.PermissionDenied {
		return ruling{}, false
	}
	return rulingOf(r.Verdict, r.Decision), true
}
