package journal

import (
	"context"
	"strings"
	"testing"

	"github.com/callgate/callgate"
)

// In a damaged file the claim of a dead process may stay open although it was
// settled. That is said; it does not keep the caller for ever, and starts nothing.
func TestClaimThatCannotBeSettled(t *testing.T) {
	g := newRig(t, Options{}, nil)
	g.submit(1, 1, "once")
	g.exec(t, `CREATE TRIGGER damage AFTER UPDATE OF seq ON calls WHEN NEW.seq IS NOT NULL BEGIN UPDATE calls SET seq = NULL WHERE id = NEW.id; END`)
	g.exec(t, `UPDATE calls SET owner = 'dead', seq = NULL`)
	for range 2 {
		r := g.submit(1, 1, "once")[0]
		if r.Code != callgate.OutcomeUnknown || r.State != callgate.Unknown || !strings.Contains(r.Message, "the journal is damaged") {
			t.Errorf("%q, state %s", r, r.State)
		}
	}
	if n := g.runs.Load(); n != 1 {
		t.Errorf("%d runs", n)
	}
	if n, err := g.Recover(context.Background()); n != 1 || err != nil {
		t.Errorf("recovered %d, %v", n, err)
	}
}
