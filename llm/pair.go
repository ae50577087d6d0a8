package llm

import (
	"slices"
	"strings"

	"github.com/callgate/callgate"
)

// Pair returns history as a provider accepts it, changing as little as it can:
//
//   - after each message with calls comes one message of the user that begins
//     with their results, exactly one each, in the order of the calls;
//   - a call without a result gets one that says it was interrupted: as
//     [callgate.OutcomeUnknown], or as [callgate.Canceled] where cat says that
//     the tool is read-only;
//   - a result without a call goes, and of two results for one call the second;
//   - no two calls of the history have the same id, and none is blank;
//   - blocks and messages without content go.
//
// It is pure and idempotent, and a message that is appended changes nothing
// about those before its turn. What needs no change is shared with history. Cat
// may be nil.
func Pair(history []Message, cat *callgate.Catalog) []Message {
	said := make([]Message, 0, len(history))
	for _, m := range history {
		if m = sayable(m); len(m.Blocks) > 0 {
			said = append(said, m)
		}
	}
	used := map[string]bool{}
	out := make([]Message, 0, len(said))
	for i := 0; i < len(said); i++ {
		m := said[i].WithIDs()
		calls := m.Calls()
		if len(calls) == 0 {
			// A result here has no call.
			if m = keep(m, func(b Block) bool { return b.Type != ResultBlock }); len(m.Blocks) > 0 {
				out = append(out, m)
			}
			continue
		}
		// The answer is everything up to the next word of the assistant.
		end := i + 1
		for end < len(said) && said[end].Role != Assistant {
			end++
		}
		answer := answerTo(calls, original(said[i]), said[i+1:end], cat)
		answer.Turn = m.Turn
		m, answer = distinct(m, answer, used)
		out = append(out, m, answer)
		i = end - 1
	}
	return out
}

// original returns the ids as the results know them: before WithIDs.
func original(m Message) []string {
	var ids []string
	for _, c := range m.Calls() {
		ids = append(ids, c.ID)
	}
	return ids
}

// answerTo builds the message that answers calls from the messages that follow
// them. The results of calls whose ids were not unique are taken in order.
func answerTo(calls []callgate.Call, ids []string, following []Message, cat *callgate.Catalog) Message {
	results := make([]*callgate.Result, len(calls))
	var rest []Block
	for _, m := range following {
		for _, b := range m.Blocks {
			if b.Type != ResultBlock {
				rest = append(rest, b)
				continue
			}
			for i := range calls {
				if results[i] == nil && (b.Result.CallID == calls[i].ID || b.Result.CallID == ids[i]) {
					results[i] = b.Result
					break
				}
			}
		}
	}
	answer := Message{Role: User}
	for i, r := range results {
		if r == nil {
			r = interrupted(calls[i], cat)
		} else if r.CallID != calls[i].ID {
			c := *r
			c.CallID = calls[i].ID
			r = &c
		}
		answer.Blocks = append(answer.Blocks, Block{Type: ResultBlock, Result: r})
	}
	answer.Blocks = append(answer.Blocks, rest...)
	return answer
}

// interrupted answers a call that nothing is known of.
func interrupted(call callgate.Call, cat *callgate.Catalog) *callgate.Result {
	r := &callgate.Result{CallID: call.ID, Tool: call.Name, Code: callgate.OutcomeUnknown, State: callgate.Unknown,
		Message: "the session was interrupted before the result was recorded; " + callgate.OutcomeUnknown.Info().Advice}
	if cat != nil {
		if t, err := cat.Get(call.Name); err == nil && t.Annotations.ReadOnlyHint {
			r.Code, r.State = callgate.Canceled, callgate.Stopped
			r.Message = "the session was interrupted before the result was recorded; the tool changes nothing, so the call can be repeated"
		}
	}
	return r
}

// distinct renames the calls of m whose ids an earlier turn has, and their
// results with them.
func distinct(m, answer Message, used map[string]bool) (Message, Message) {
	clash := false
	for _, c := range m.Calls() {
		clash = clash || used[c.ID]
	}
	if clash {
		m.Blocks = slices.Clone(m.Blocks)
		taken := map[string]bool{}
		for _, c := range m.Calls() {
			taken[c.ID] = true
		}
		n := 0
		for i, b := range m.Blocks {
			if b.Type != CallBlock {
				continue
			}
			if used[b.Call.ID] {
				c, r := *b.Call, *answer.Blocks[n].Result
				c.ID = fresh(c.ID, union(used, taken))
				taken[c.ID] = true
				r.CallID = c.ID
				m.Blocks[i].Call, answer.Blocks[n].Result = &c, &r
			}
			n++
		}
	}
	for _, c := range m.Calls() {
		used[c.ID] = true
	}
	return m, answer
}

func union(a, b map[string]bool) map[string]bool {
	u := make(map[string]bool, len(a)+len(b))
	for k := range a {
		u[k] = true
	}
	for k := range b {
		u[k] = true
	}
	return u
}

// sayable returns m with the blocks that its role can say and that say anything.
func sayable(m Message) Message {
	return keep(m, func(b Block) bool {
		switch b.Type {
		case TextBlock:
			return strings.TrimSpace(b.Text) != ""
		case CallBlock:
			return b.Call != nil && m.Role == Assistant
		case ResultBlock:
			return b.Result != nil && m.Role != Assistant
		case ImageBlock:
			return b.Image != nil && len(b.Image.Data) > 0
		}
		return len(b.Raw) > 0
	})
}

// keep returns m with the blocks that ok accepts, sharing them if it can.
func keep(m Message, ok func(Block) bool) Message {
	if slices.ContainsFunc(m.Blocks, func(b Block) bool { return !ok(b) }) {
		m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b Block) bool { return !ok(b) })
	}
	return m
}
