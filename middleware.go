package callgate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// A Middleware surrounds the handler of an authorized call: it may change the
// context and the outcome, try again, or answer without calling next. It cannot
// change the call, whose bytes were validated and approved: next runs x.Call
// whatever it is given. It must be safe for concurrent use.
type Middleware func(x *Execution, next Handler) Handler

// Retry returns a Middleware that tries again where that cannot repeat an effect:
// any call when nothing had been sent ([NotSent]), and a read-only or idempotent
// one also after [Unavailable], [OutcomeUnknown] or a [Timeout] of its own making
// (not of the call's deadline, which bounds all attempts together). All attempts
// have one [Identity], from which a handler that can pass an idempotency key
// derives it ([Identity.Key]).
type Retry struct {
	Attempts int           // in all; 0 means 3
	Wait     time.Duration // before the second attempt, doubled for each further one, half of it random; 0 means 200 ms
	MaxWait  time.Duration // 0 means 5 s
}

// Middleware returns r as a [Middleware].
func (r Retry) Middleware() Middleware {
	attempts := r.Attempts
	if attempts <= 0 {
		attempts = 3
	}
	wait, most := orDuration(r.Wait, 200*time.Millisecond), orDuration(r.MaxWait, 5*time.Second)
	return func(x *Execution, next Handler) Handler {
		return func(ctx context.Context, call Call) (Result, error) {
			pause := min(wait, most)
			for n := 1; ; n++ {
				res, err := next(ctx, call)
				if n == attempts || ctx.Err() != nil || !repeatable(x.Effect, res, err) {
					return res, err
				}
				t := time.NewTimer(pause/2 + rand.N(pause/2+1))
				select {
				case <-t.C:
				case <-ctx.Done():
					t.Stop()
					return res, err
				}
				pause = min(2*pause, most)
			}
		}
	}
}

// repeatable reports whether a failed attempt may be repeated.
func repeatable(effect Effect, res Result, err error) bool {
	if err == nil {
		if err = res.Err(); err == nil {
			return false
		}
	}
	e := asError(err)
	if e.NotStarted {
		return e.Code == Unavailable || e.Code == Timeout
	}
	return effect != Once && (e.Code == Unavailable || e.Code == OutcomeUnknown || e.Code == Timeout)
}

// Key returns a key for services that take one to recognize a repetition: the
// same for all attempts of a call and for a call that is submitted again, and
// different for any other. Identities of anonymous turns have none.
func (id Identity) Key() string {
	if id.Session == "" {
		return ""
	}
	return id.String()
}

// A Breaker stops calling a source that is down: after Failures calls in a row
// that ended with [Unavailable], its tools are answered with that code at once,
// until one call is let through after Pause and succeeds. Local tools are each
// their own source. The zero value is ready to use.
type Breaker struct {
	Failures int           // 0 means 5
	Pause    time.Duration // 0 means 30 seconds

	mu      sync.Mutex
	sources map[string]*circuit
}

type circuit struct {
	failures int
	until    time.Time // when the next call is let through, if open
}

// Middleware returns b as a [Middleware].
func (b *Breaker) Middleware() Middleware {
	return func(x *Execution, next Handler) Handler {
		source := x.Source
		if source == "" {
			source = "tool " + x.Spec.Name
		}
		return func(ctx context.Context, call Call) (Result, error) {
			if wait, open := b.open(source); open {
				return Result{}, &Error{Code: Unavailable, NotStarted: true, Message: fmt.Sprintf(
					"%s has failed several times in a row and is not called for another %v", source, wait.Round(time.Second))}
			}
			res, err := next(ctx, call)
			failed := CodeOf(err) == Unavailable || err == nil && res.Code == Unavailable
			b.note(source, failed)
			return res, err
		}
	}
}

func (b *Breaker) open(source string) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.sources[source]
	if c == nil || c.until.IsZero() {
		return 0, false
	}
	now := time.Now()
	if wait := c.until.Sub(now); wait > 0 {
		return wait, true
	}
	c.until = now.Add(orDuration(b.Pause, 30*time.Second)) // this call is the probe; the others wait for it
	return 0, false
}

func (b *Breaker) note(source string, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !failed {
		delete(b.sources, source)
		return
	}
	if b.sources == nil {
		b.sources = make(map[string]*circuit)
	}
	c := b.sources[source]
	if c == nil {
		c = new(circuit)
		b.sources[source] = c
	}
	limit := b.Failures
	if limit <= 0 {
		limit = 5
	}
	if c.failures++; c.failures >= limit {
		c.until = time.Now().Add(orDuration(b.Pause, 30*time.Second))
	}
}

// A Budget bounds what a session may use. A limit of 0 is none; with all of them
// 0 it only counts. A call that finds a limit reached is answered with
// [BudgetExceeded] and does not run. The zero value is ready to use.
type Budget struct {
	Calls  int64         // handlers entered
	Time   time.Duration // since the first call
	Tokens int64         // as reported with [Budget.Spend]

	mu     sync.Mutex
	calls  int64
	tokens int64
	start  time.Time
}

// Spend adds tokens that a model used.
func (b *Budget) Spend(tokens int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens += tokens
}

// Used returns what was used so far.
func (b *Budget) Used() (calls, tokens int64, elapsed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.start.IsZero() {
		elapsed = time.Since(b.start)
	}
	return b.calls, b.tokens, elapsed
}

// Exceeded returns nil, or an [*Error] with [BudgetExceeded] that says which
// limit is reached.
func (b *Budget) Exceeded() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.exceeded(); e != nil {
		return e
	}
	return nil
}

func (b *Budget) exceeded() *Error {
	var what string
	switch {
	case b.Calls > 0 && b.calls >= b.Calls:
		what = fmt.Sprintf("all %d calls of the session are used", b.Calls)
	case b.Tokens > 0 && b.tokens >= b.Tokens:
		what = fmt.Sprintf("all %d tokens of the session are used", b.Tokens)
	case b.Time > 0 && !b.start.IsZero() && time.Since(b.start) >= b.Time:
		what = fmt.Sprintf("the session's time of %v is over", b.Time)
	default:
		return nil
	}
	return &Error{Code: BudgetExceeded, NotStarted: true, Message: what + "; " + BudgetExceeded.Info().Advice}
}

// Middleware returns b as a [Middleware]. It counts calls, not attempts, if it
// stands before [Retry].
func (b *Budget) Middleware() Middleware {
	return func(_ *Execution, next Handler) Handler {
		return func(ctx context.Context, call Call) (Result, error) {
			b.mu.Lock()
			if b.start.IsZero() {
				b.start = time.Now()
			}
			e := b.exceeded()
			if e == nil {
				b.calls++
			}
			b.mu.Unlock()
			if e != nil {
				return Result{}, e
			}
			return next(ctx, call)
		}
	}
}
