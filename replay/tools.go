package replay

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/journal"
)

// Tools returns the tools of specs, with handlers that answer from the record: each
// call gets the result of the recorded call with the same name and arguments, byte
// for byte, that was not given yet, that of the same place in the same turn first,
// else the earliest. A call that was not recorded fails with a message that says so.
// Results that were failures, denials among them, are failures again.
//
// The journal keeps no definitions, so specs are those of today or the test's own:
// what they refuse is refused before the record is asked. The tools share one record
// and are safe for concurrent use.
func (s Session) Tools(specs ...callgate.Spec) []callgate.Tool {
	t := &tape{records: s.Calls, played: make([]bool, len(s.Calls)), given: map[*callgate.Execution]int{}}
	tools := make([]callgate.Tool, len(specs))
	for i, spec := range specs {
		tools[i] = callgate.Tool{Spec: spec.Clone(), Handler: t.handle}
	}
	return tools
}

// A tape is the results of a session's calls, each to be given once.
type tape struct {
	records []journal.Record

	mu     sync.Mutex
	played []bool
	given  map[*callgate.Execution]int // what is tried again gets the same
}

// handle is a [callgate.Handler].
func (t *tape) handle(ctx context.Context, call callgate.Call) (callgate.Result, error) {
	x, _ := callgate.ExecutionFrom(ctx)
	i, err := t.find(x, call)
	if err != nil {
		return callgate.Result{}, err
	}
	return answer(t.records[i], x)
}

// find returns the place of the record that answers call.
func (t *tape) find(x *callgate.Execution, call callgate.Call) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.given[x]; ok && x != nil {
		return i, nil
	}
	found, named, same := -1, 0, 0
	for i, r := range t.records {
		if r.Tool != call.Name {
			continue
		}
		named++
		if !bytes.Equal(r.Arguments, call.Arguments) {
			continue
		}
		same++
		place := r.Identity.Turn == call.Identity.Turn && r.Identity.Index == call.Identity.Index
		if !t.played[i] && (found < 0 || place) {
			if found = i; place {
				break
			}
		}
	}
	switch {
	case found >= 0:
		t.played[found] = true
		t.given[x] = found
		return found, nil
	case named == 0:
		return 0, fmt.Errorf("replay: no call of the tool %q was recorded", call.Name)
	case same == 0:
		return 0, fmt.Errorf("replay: %s recorded, none with the arguments %s", of(named, call.Name), plaintext.Clip(string(call.Arguments), 300))
	}
	return 0, fmt.Errorf("replay: %s recorded with the arguments %s, and all have been given", of(same, call.Name), plaintext.Clip(string(call.Arguments), 300))
}

func of(n int, tool string) string {
	if n == 1 {
		return fmt.Sprintf("1 call of the tool %q was", tool)
	}
	return fmt.Sprintf("%d calls of the tool %q were", n, tool)
}

// answer gives what was recorded to the gate, without what the gate adds itself.
func answer(r journal.Record, x *callgate.Execution) (callgate.Result, error) {
	if !r.Settled {
		return callgate.Result{}, fmt.Errorf("replay: what came of call %s was not recorded", r.Identity)
	}
	res := r.Result
	for len(res.Notes) > 0 && strings.HasPrefix(res.Notes[0], "Note: the argument at ") && strings.Contains(res.Notes[0], " was repaired: ") {
		res.Notes = res.Notes[1:]
	}
	if res.Code == "" {
		return res, nil
	}
	e := &callgate.Error{Code: res.Code, Message: res.Message, Violations: res.Violations, NotStarted: res.State == callgate.NotStarted}
	if (e.Code == callgate.Timeout || e.Code == callgate.Canceled) && !e.NotStarted && (x == nil || x.Effect != callgate.ReadOnly) {
		e.Message = strings.TrimSuffix(e.Message, "; "+e.Code.Info().Advice)
	}
	res.Code, res.State = "", ""
	return res, e
}
