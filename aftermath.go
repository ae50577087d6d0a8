package callgate

import (
	"context"
	"sync"
)

// OnTurnCanceled arranges for f to be called, once and in a goroutine of its own,
// if the turn of x is canceled before all of its calls have been answered: the
// context that was given to Dispatch ends, or a reader leaves Stream early. It is
// for a handler that leaves something running when it returns, such as a background
// job. What becomes of that context later says nothing of the turn, and f is not
// called for it.
//
// A handler that comes so late that the turn is over has been answered for, and
// nobody knows of what it left running: f is called then, too. The turn of a call
// that a handler dispatched is part of the handler's own turn, and f is called if
// either is canceled.
func (x *Execution) OnTurnCanceled(f func()) {
	t := x.turn
	if t == nil {
		return // x was judged only
	}
	f = sync.OnceFunc(f)
	if t.parent != nil {
		t.parent.OnTurnCanceled(f)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told == len(t.plan) {
		go f()
		return
	}
	t.aftermath = append(t.aftermath, context.AfterFunc(t.ctx, f))
}

// count notes that a call is about to be answered. After the last one the turn is
// over: it cannot be canceled any more.
func (t *run) count() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told++; t.told < len(t.plan) {
		return
	}
	for _, stop := range t.aftermath {
		stop()
	}
	t.aftermath = nil
}
