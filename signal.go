package callgate

import "context"

// A signal fires once and can be waited for by many. It exists so that waiting
// reads as a sentence.
type signal struct{ c chan struct{} }

func newSignal() signal { return signal{make(chan struct{})} }

// fire does nothing to the signal of a call that has no siblings: nobody waits
// for it.
func (s signal) fire() {
	if s.c == nil {
		return
	}
	select {
	case <-s.c:
	default:
		close(s.c)
	}
}

func (s signal) fired() bool {
	select {
	case <-s.c:
		return true
	default:
		return false
	}
}

// wait reports whether the signal fired before ctx ended.
func (s signal) wait(ctx context.Context) bool {
	select {
	case <-s.c:
		return true
	case <-ctx.Done():
		return s.fired()
	}
}
