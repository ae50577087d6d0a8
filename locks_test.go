package callgate

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func read(keys ...string) []Access  { return access(false, keys) }
func write(keys ...string) []Access { return access(true, keys) }

func access(w bool, keys []string) (a []Access) {
	for _, k := range keys {
		a = append(a, Access{k, w})
	}
	return a
}

func TestLocksGrantInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		var order []string
		var mu sync.Mutex
		start := func(name string, a []Access) *ticket {
			tk := &ticket{access: a, label: name}
			go func() {
				if !l.try(tk) {
					if err := l.wait(t.Context(), tk); err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
			}()
			synctest.Wait()
			return tk
		}
		w1 := start("w1", write("f:a"))
		r1 := start("r1", read("f:a")) // waits for w1
		start("other", write("f:b"))   // meets nobody
		w2 := start("w2", write("f:a/x"))
		r2 := start("r2", read("f:a")) // must not overtake w2
		if got := len(order); got != 2 {
			t.Fatalf("granted at first: %q", order)
		}
		for _, tk := range []*ticket{w1, r1, w2, r2} {
			l.release(tk)
			synctest.Wait()
		}
		want := []string{"w1", "other", "r1", "w2", "r2"}
		for i := range want {
			if order[i] != want[i] {
				t.Fatalf("order %q, want %q", order, want)
			}
		}
	})
}

func TestLocksWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locks
		held := &ticket{access: write("f:a"), label: "slow"}
		l.try(held)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waiting := &ticket{access: write("f:a")}
		l.try(waiting)
		err := l.wait(ctx, waiting)
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "waiting for a call of slow that holds what this call touches" {
			t.Errorf("error: %v", err)
		}
		// Who left the queue is in nobody's way.
		l.release(held)
		if !l.try(&ticket{access: write("f:a")}) {
			t.Error("the lock is not free although its holder released it and the waiter left")
		}
	})
}

// A call that is dispatched by the handler of another does not wait for it, nor
// for those that wait for it.
func TestLocksNested(t *testing.T) {
	var l Locks
	parent := &ticket{access: write("")}
	l.try(parent)
	l.try(&ticket{access: write("f:a")}) // waits for parent
	if child := (&ticket{access: write("f:a"), parent: parent}); !l.try(child) {
		t.Error("a child waits for its own parent")
	}
}

// At no time do two holders conflict, and everybody gets what they asked for.
func TestLocksExclude(t *testing.T) {
	var l Locks
	keys := []string{"f:", "f:a", "f:a/b", "f:c", ""}
	var writers [5]atomic.Int32
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 300 {
				k := rng.IntN(len(keys))
				tk := &ticket{access: []Access{{keys[k], true}}}
				if !l.try(tk) {
					if err := l.wait(context.Background(), tk); err != nil {
						t.Error(err)
						return
					}
				}
				for i := range keys {
					if overlap(keys[i], keys[k]) && writers[i].Load() != 0 {
						t.Errorf("writers of %q and %q at once", keys[i], keys[k])
					}
				}
				writers[k].Add(1)
				writers[k].Add(-1)
				l.release(tk)
			}
		})
	}
	wg.Wait()
	if len(l.queue) != 0 {
		t.Errorf("%d tickets left", len(l.queue))
	}
}

// What a nested call holds is not given to another when its parent is gone: the
// handler of a nested call may outlive its parent's, if it was abandoned.
func TestLocksNestedOutlivesItsParent(t *testing.T) {
	var l Locks
	parent := &ticket{access: write("")}
	l.try(parent)
	waiting := &ticket{access: write("f:a")}
	l.try(waiting)
	child := &ticket{access: write("f:a"), parent: parent}
	l.try(child)
	l.release(parent)
	if waiting.held {
		t.Error("two calls hold f:a")
	}
	l.release(child)
	if !waiting.held {
		t.Error("f:a is free and nobody got it")
	}
}

// A lock that is granted at the last moment is held, and not waited for.
func TestLocksGrantedAtTheLastMoment(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		var l Locks
		first, second := &ticket{access: write("")}, &ticket{access: write("")}
		l.try(first)
		l.try(second)
		l.release(first)
		if err := l.wait(ctx, second); err != nil || len(l.queue) != 1 {
			t.Fatalf("%v, %d in the queue", err, len(l.queue))
		}
	}
}

// A call that is dispatched by a nested call waits for none of those above it;
// and what is not in the queue can be released.
func TestLocksGrandchild(t *testing.T) {
	var l Locks
	top := &ticket{access: write("")}
	child := &ticket{access: read("g:"), parent: top}
	grandchild := &ticket{access: write("f:a"), parent: child}
	if !l.try(top) || !l.try(child) || !l.try(grandchild) {
		t.Error("a call waits for those that wait for it")
	}
	l.release(new(ticket))
}
