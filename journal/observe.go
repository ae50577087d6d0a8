package journal

import (
	"bytes"
	"context"

	"github.com/callgate/callgate"
)

// Observer returns an observer that records the calls which never reached the
// executor: unknown tools, arguments that were refused, denials. They are rows like
// any other, with what decided and why, settled and in the chain; nothing waits for
// the disk. What cannot be written is lost: nothing has run.
//
// Calls of anonymous turns leave no row, nor do those of a session that another
// process holds, nor a call with other bytes than the one that was submitted under
// its identity.
func (j *Journal) Observer() callgate.Observer {
	return func(_ context.Context, e callgate.Event) {
		if e.Kind != callgate.Settled || e.Call.Identity.Session == "" || e.Result.State != callgate.NotStarted || e.Result.Attempts > 0 {
			return
		}
		r, err := j.refusedRow(e)
		if err != nil {
			return
		}
		if to, _ := j.spool.add(r); to != elsewhere {
			return
		}
		_ = j.enter(false, func(w *writer) error { // what cannot be written is lost, as promised
			if err := w.enter(r.session, r.claimed, j.owner.id); err != nil {
				return err
			}
			j.spool.note(r.identity())
			before, err := w.rows(latest, r.session, r.turn, r.index)
			if err != nil {
				return err
			}
			r.run = 0
			if len(before) > 0 {
				b := before[0]
				if !bytes.Equal(b.digest, r.digest) || b.state != r.state || b.code == r.code {
					return nil // it has its row, or one that must stay the newest: what it says of an effect is still so
				}
				r.run = b.run + 1
			}
			if mine, err := w.insert(r); err != nil || !mine {
				return err
			}
			return w.settle(r)
		})
	}
}

// refusedRow returns the settled row of a call that never reached the executor.
func (j *Journal) refusedRow(e callgate.Event) (*row, error) {
	var f specFacts
	var d callgate.Decision
	effect, source := callgate.Once, ""
	if e.Tool != nil {
		var err error
		if f, err = j.facts(&e.Tool.Spec); err != nil {
			return nil, err
		}
		effect, source = e.Tool.Annotations.Effect(), e.Tool.Source
	}
	if e.Decision != nil {
		d = *e.Decision
	}
	r := j.rowOf(e.Call, e.Call.Digest(), f, d)
	r.source, r.effect = source, effect.String()
	return r, j.settleRow(r, *e.Result)
}
