package callgate

import "context"

// inOrder waits until no earlier call of the turn that is not settled touches
// what call i touches, as things are now. The plan has ordered the calls by
// their lexical keys; but two names can be one thing (a link, made a moment ago
// by another call of the turn), and only a look at the world tells.
//
// A call whose own keys can still change, because an earlier call that writes
// something on their way is not settled, may come to touch anything of its
// scheme: what comes after it and could meet it there waits until its keys are
// certain.
//
// With start, the call is about to run: its keys are then fixed as they are.
func (t *run) inOrder(ctx context.Context, i int, start bool) *Error {
	if len(t.gate.Resolve) == 0 {
		return nil
	}
	for {
		j := t.inTheWay(i, start)
		if j < 0 {
			return nil
		}
		if !t.states[j].settled.wait(ctx) {
			return canceledBeforeStart(ctx)
		}
	}
}

// inTheWay returns an earlier call that call i has to wait for, or -1, with the
// keys of i fixed if it is to start.
func (t *run) inTheWay(i int, start bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.resolved(i)
	for j := range i {
		if !t.open(j) {
			continue
		}
		theirs := t.resolved(j)
		if conflict(mine, theirs) {
			return j
		}
		if k := t.unsettles(j); k >= 0 && mayMeet(mine, theirs) {
			return k
		}
	}
	t.states[i].fixed = start
	return -1
}

// open reports whether call j may still have an effect.
func (t *run) open(j int) bool { return t.plan[j].Refusal == nil && !t.states[j].settled.fired() }

// unsettles returns an open call before j that writes something on the way of
// j's keys, or -1. The keys of a call that started are what they are.
func (t *run) unsettles(j int) int {
	if t.states[j].fixed {
		return -1
	}
	keys := t.resolved(j)
	for k := range j {
		if !t.open(k) {
			continue
		}
		for _, w := range t.resolved(k) {
			if w.Write && conflict([]Access{w}, keys) {
				return k
			}
		}
	}
	return -1
}

// mayMeet reports whether calls that touch a and b could touch the same thing if
// the keys of b named other things of their schemes, and one of them writes.
func mayMeet(a, b []Access) bool {
	for _, y := range b {
		y.Key = scheme(y.Key)
		if conflict(a, []Access{y}) {
			return true
		}
	}
	return false
}

// resolved returns the keys of call i, lexical and as they are now, which stay
// good until another call settles. t.mu must be held.
func (t *run) resolved(i int) []Access {
	st := &t.states[i]
	if st.keys != nil && (st.fixed || st.epoch == t.epoch) {
		return st.keys
	}
	access := t.plan[i].Access
	keys := make([]Access, len(access), 2*len(access)+1)
	copy(keys, access)
	for _, a := range access {
		for _, key := range t.gate.resolveKey(a.Key) {
			if key != a.Key {
				keys = append(keys, Access{key, a.Write})
			}
		}
	}
	st.keys, st.epoch = keys, t.epoch
	return keys
}

// lockKeys returns what call i, which is about to run, locks.
func (t *run) lockKeys(i int) []Access {
	if !t.states[i].fixed {
		return t.plan[i].Access // nothing to resolve
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resolved(i)
}

// resolveKey returns the keys of what key names now. A resolver that panics has
// not said what it is: the whole scheme.
func (d *Dispatcher) resolveKey(key string) (keys []string) {
	s := scheme(key)
	resolve := d.Resolve[s]
	if resolve == nil || key == s {
		return nil
	}
	defer func() {
		if recover() != nil {
			keys = []string{s}
		}
	}()
	return resolve(key)
}
