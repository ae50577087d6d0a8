package callgate

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Locks orders calls that touch the same things, across all dispatchers that
// share it: give one to every dispatcher of a workspace. The zero value is
// ready to use; it must not be copied. Locks are granted in order of arrival, a
// call's keys all at once, so that there is nothing to deadlock on.
type Locks struct {
	mu    sync.Mutex
	queue []*ticket // held and waiting, in order of arrival
}

// A ticket is one call's claim on what it touches.
type ticket struct {
	access []Access
	parent *ticket // of the call in whose handler this one was dispatched
	label  string  // the tool, to tell who waits whom it waits for
	held   bool
	ready  chan struct{} // closed when the ticket is granted; nil if it never waited
}

// try puts t in the queue and reports whether it holds all it asked for. If not,
// the caller must go on to wait.
func (l *Locks) try(t *ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.held = l.blocker(t, len(l.queue)) == nil
	l.queue = append(l.queue, t)
	if !t.held {
		t.ready = make(chan struct{})
	}
	return t.held
}

// wait returns nil when t, which is in the queue, holds all it asked for. If ctx
// ends before, t is out of the queue again, and the error names whom it waited
// for.
func (l *Locks) wait(ctx context.Context, t *ticket) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.held { // granted at the last moment
		return nil
	}
	var behind string
	if b := l.blocker(t, slices.Index(l.queue, t)); b != nil {
		behind = b.label
	}
	l.remove(t)
	return &lockWait{behind: behind, cause: context.Cause(ctx)}
}

// A lockWait is a wait for a lock that was given up.
type lockWait struct {
	behind string
	cause  error
}

func (w *lockWait) Error() string {
	return "waiting for a call of " + w.behind + " that holds what this call touches"
}
func (w *lockWait) Unwrap() error { return w.cause }

// release gives up what t holds.
func (l *Locks) release(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(t)
}

func (l *Locks) remove(t *ticket) {
	i := slices.Index(l.queue, t)
	if i < 0 {
		return
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	if t.parent != nil {
		i = 0 // it may have overtaken those who wait for it
	}
	for n := i; n < len(l.queue); n++ {
		if w := l.queue[n]; !w.held && l.blocker(w, n) == nil {
			w.held = true
			close(w.ready)
		}
	}
}

// blocker returns the first ticket that t, which stands behind the n at the head
// of the queue, has to wait for, or nil. Of those behind t it waits for holders
// only: a nested call (see below) that overtook t.
//
// A call that was dispatched by the handler of a call that holds its locks waits
// neither for that call nor for any that are still waiting, since these may be
// waiting for that call in turn.
func (l *Locks) blocker(t *ticket, n int) *ticket {
	for i, u := range l.queue {
		if u == t || i >= n && !u.held {
			continue
		}
		if t.descends(u) || t.parent != nil && !u.held {
			continue
		}
		if conflict(t.access, u.access) {
			return u
		}
	}
	return nil
}

func (t *ticket) descends(u *ticket) bool {
	for p := t.parent; p != nil; p = p.parent {
		if p == u {
			return true
		}
	}
	return false
}

// scheme returns the part of a key before and with the colon; "" has none.
func scheme(key string) string { return key[:strings.IndexByte(key, ':')+1] }
