package replay

import (
	"context"
	"fmt"
	"math"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A Fork says what a session shares with those that it was forked from: calls that
// belong to them, and that no report of the fork judges.
type Fork struct {
	Parent string `json:"parent"`
	Turn   int    `json:"turn"`  // the last one that is shared
	Calls  int    `json:"calls"` // of all ancestors, up to where each was left
}

// Forked returns what a session shares with its ancestors, nil if it was not forked.
// It reads their calls. An error means that the record cannot be read, or was changed.
func Forked(ctx context.Context, j *journal.Journal, id string) (*Fork, error) {
	info, err := j.SessionInfo(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if info.Parent == "" {
		return nil, nil
	}
	f := &Fork{Parent: info.Parent, Turn: info.ParentTurn}
	seen := map[string]bool{id: true}
	for last := math.MaxInt; info.Parent != ""; {
		last = min(last, info.ParentTurn)
		if seen[info.Parent] {
			return nil, fmt.Errorf("replay: session %q was forked from itself; the journal was changed, callgate audit verify says where", info.Parent)
		}
		seen[info.Parent] = true
		var before callgate.Identity
		for r, err := range j.Calls(ctx, info.Parent) {
			if err != nil {
				return nil, fmt.Errorf("replay: %w", err)
			}
			if r.Identity.Turn > last {
				break
			}
			if r.Identity != before { // not another run of it
				f.Calls++
			}
			before = r.Identity
		}
		if info, err = j.SessionInfo(ctx, info.Parent); err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
	}
	return f, nil
}
