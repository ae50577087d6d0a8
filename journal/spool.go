package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate"
)

// A spool takes the rows of read-only calls of sessions that this process holds. A
// claim, and later what became of it, is appended to the owner's file with one write
// each: that outlives the process, though not the machine, which is what a read-only
// row needs. Some time later the rows are moved into the database, many in one
// transaction, and get their places in the chain. Every transaction of this process
// begins with that: so a synced one takes all rows before it with it, and whatever
// looks into the database in a transaction sees all that was spooled before.
//
// If the process dies, whoever takes over from it moves the rows that are in the file
// (owner.go). Rows that are there already are known again, so a file may be emptied
// later than its rows are committed, but never sooner.
type spool struct {
	file *os.File // the owner's; nil: nothing is spooled

	mu     sync.Mutex
	held   map[string]*holding          // sessions
	rows   map[callgate.Identity]*entry // the newest row of a call, until it is settled and in the database
	queue  []*entry                     // with what the database does not have yet
	bytes  int                          // about as many, of the queue
	size   int64                        // of the file
	torn   bool                         // after size the file has the beginning of a frame
	moving bool                         // a transaction is taking rows
	failed error                        // of the last move
	closed bool
	last   int64 // time of the newest claim
	buf    []byte

	wake, full, closing chan struct{}
	done                chan struct{} // the mover has ended
}

// An entry is a row on its way through the spool.
type entry struct {
	row     row  // not changed once it is settled, but for the id and the run
	settled bool // row says what became of the call
	queued  bool
}

const (
	spoolPause = 50 * time.Millisecond // so old gets a row before it is moved
	spoolEarly = 400                   // so many rows are moved at once
	spoolRows  = 1000                  // above which a claim waits for a move
	spoolBytes = 1 << 20               // the same in bytes
	spoolFile  = 8 << 20               // the same for the file, which is emptied when no row waits
)

func newSpool(o *owner) *spool {
	s := &spool{
		held: map[string]*holding{}, rows: map[callgate.Identity]*entry{},
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	if o.locked { // else nobody would ever take over from us
		s.file = o.file
	}
	return s
}

// Where a claim has gone.
type where int

const (
	elsewhere where = iota // it is a matter for the database
	spooled
	refused // somebody has the call
)

// claim spools the claim r of a read-only call. It refuses while the last move has
// failed or too much waits for the next; then the journal has to flush first.
func (s *spool) claim(r *row, overstays bool) (where, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.identity()
	h := s.held[id.Session]
	if s.file == nil || h == nil || !h.active {
		return elsewhere, nil
	}
	if s.closed {
		return refused, ErrClosed
	}
	r.run = 0
	if e := s.rows[id]; e != nil {
		b := e.seen()
		if string(b.digest) != string(r.digest) && !b.refused() || b.open() || overstays || !b.mayRun(callgate.ReadOnly) {
			return refused, nil
		}
		r.run = b.run + 1
	} else if !h.none(id) {
		return elsewhere, nil
	}
	if s.failed != nil || len(s.queue) >= spoolRows || s.bytes >= spoolBytes || s.size >= spoolFile {
		return refused, errFull
	}
	// A row is known again by its owner and this time.
	s.last = max(s.last+1, r.claimed)
	r.claimed = s.last
	if err := s.write(partClaim, r); err != nil {
		return refused, err
	}
	r.entry = &entry{row: *r}
	s.rows[id] = r.entry
	h.note(id)
	s.enqueue(r.entry)
	return spooled, nil
}

var errFull = errors.New("the rows that wait have to be moved first")

// settle spools what became of the call of r.
func (s *spool) settle(r *row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	e := r.entry
	r.id, r.run = e.row.id, e.row.run // a move may have changed them
	if err := s.write(partSettle, r); err != nil {
		return err
	}
	e.row, e.settled = *r, true
	s.enqueue(e)
	return nil
}

// add spools a settled row of a call that was refused, if there is none of that call.
func (s *spool) add(r *row) (where, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.identity()
	h := s.held[id.Session]
	if e := s.rows[id]; e != nil && e.settled && e.row.code == r.code && e.row.state == r.state && bytes.Equal(e.row.digest, r.digest) {
		return refused, nil // it has its row
	}
	if s.file == nil || s.closed || s.failed != nil || h == nil || !h.active || s.rows[id] != nil || !h.none(id) ||
		len(s.queue) >= spoolRows || s.bytes >= spoolBytes || s.size >= spoolFile {
		return elsewhere, nil
	}
	s.last = max(s.last+1, r.claimed)
	r.claimed = s.last
	if err := s.write(partClaim|partSettle, r); err != nil {
		return refused, err
	}
	e := &entry{row: *r, settled: true}
	s.rows[id] = e
	h.note(id)
	s.enqueue(e)
	return spooled, nil
}

// write appends a frame to the file, whole or not at all.
func (s *spool) write(parts byte, r *row) error {
	if s.torn {
		if err := s.file.Truncate(s.size); err != nil {
			return fmt.Errorf("the spool cannot be written: %w", err)
		}
		s.torn = false
	}
	s.buf = appendFrame(s.buf[:0], parts, r)
	_, err := s.file.Write(s.buf)
	if err != nil {
		s.torn = s.file.Truncate(s.size) != nil
		return fmt.Errorf("the spool cannot be written: %w", err)
	}
	s.size += int64(len(s.buf))
	s.bytes += len(s.buf)
	if cap(s.buf) > 64<<10 {
		s.buf = nil
	}
	return nil
}

func (s *spool) enqueue(e *entry) {
	if !e.queued {
		e.queued = true
		s.queue = append(s.queue, e)
	}
	switch {
	case len(s.queue) >= spoolEarly || s.bytes >= spoolBytes/2:
		poke(s.full)
		fallthrough
	case len(s.queue) == 1:
		poke(s.wake)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// seen is the row for whoever looks for the call.
func (e *entry) seen() *row {
	r := e.row
	r.pending = e.settled
	return &r
}

// latest returns the newest row of a call if it is here; it is nil, and known, if
// there is none in the database either.
func (s *spool) latest(id callgate.Identity) (r *row, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.rows[id]; e != nil {
		return e.seen(), true
	}
	h := s.held[id.Session]
	return nil, h != nil && h.active && h.none(id)
}

// forget ends an entry whose row has been settled in the database.
func (s *spool) forget(r *row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.entry.row, r.entry.settled = *r, true
	if id := r.identity(); s.rows[id] == r.entry {
		delete(s.rows, id)
	}
}

// idle reports whether nothing waits to be moved. Then the file can be emptied, if
// that has not been possible before.
func (s *spool) idle() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 || s.moving {
		return false, nil
	}
	s.failed = nil
	if s.size == 0 {
		return true, nil
	}
	if err := s.empty(); err != nil && s.size >= spoolFile {
		return true, err
	}
	return true, nil // what is in it is known again, if anybody ever looks
}

// empty empties the file, when all that is in it is in the database.
func (s *spool) empty() error {
	if err := s.file.Truncate(0); err != nil {
		return fmt.Errorf("the spool cannot be emptied: %w", err)
	}
	s.size, s.torn = 0, false
	return nil
}

// fail remembers why rows could not be moved. No read is claimed until they are.
func (s *spool) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// A move is what one transaction takes from the spool.
type move struct {
	entries []*entry
	rows    []row // the entries' at that time
	settled []bool
	bytes   int
	lost    []string // sessions that turned out not to be held
}

// take begins a move, within a transaction, and finish ends it. It is nil if nothing
// waits.
func (s *spool) take() *move {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil
	}
	m := &move{entries: s.queue, bytes: s.bytes, rows: make([]row, len(s.queue)), settled: make([]bool, len(s.queue))}
	for i, e := range m.entries {
		e.queued = false
		m.rows[i], m.settled[i] = e.row, e.settled
	}
	s.queue, s.bytes, s.moving = nil, 0, true
	return m
}

func (m *move) write(w *writer) error {
	m.lost = nil
	a := adder{w: w}
	sessions := map[string]bool{}
	for i := range m.rows {
		r := &m.rows[i]
		if !sessions[r.session] {
			sessions[r.session] = true
			holder, err := a.touch(r.session, r.claimed)
			if err != nil {
				return err
			}
			if holder != r.owner {
				m.lost = append(m.lost, r.session)
			}
		}
		if err := a.add(r, m.settled[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish ends a move: either its rows are in the database, or they wait again.
func (s *spool) finish(m *move, committed bool) {
	if m == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moving = false
	if !committed {
		waiting := m.entries
		for _, e := range s.queue {
			if !slices.Contains(m.entries, e) { // else it was settled meanwhile
				waiting = append(waiting, e)
			}
		}
		for _, e := range waiting {
			e.queued = true
		}
		s.queue, s.bytes = waiting, s.bytes+m.bytes
		return
	}
	s.failed = nil
	for i, e := range m.entries {
		e.row.id, e.row.run = m.rows[i].id, m.rows[i].run
		if id := e.row.identity(); m.settled[i] && s.rows[id] == e {
			delete(s.rows, id)
		}
	}
	for _, session := range m.lost {
		delete(s.held, session)
	}
	if len(s.queue) == 0 {
		_ = s.empty() // or later: see idle
	}
}

// mover moves what waits when it is old enough or much, until the spool is closed.
func (j *Journal) mover() {
	s := j.spool
	defer close(s.done)
	pause := spoolPause
	for {
		select {
		case <-s.wake:
		case <-s.closing:
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.full:
		case <-s.closing:
		}
		timer.Stop()
		pause = spoolPause
		if j.flush() != nil { // whoever wants to add a row is told why
			pause = time.Second
			poke(s.wake)
		}
	}
}

// flush moves all that was spooled before into the database. It returns when the rows
// are there for every reader.
func (j *Journal) flush() error {
	switch {
	case j.spool == nil: // while it is being opened
		return nil
	case j.write == nil: // nothing is spooled here
		return j.unchanged()
	}
	if idle, err := j.spool.idle(); idle {
		return err
	}
	err := j.write.do(false, func(*writer) error { return nil })
	if err != nil {
		j.spool.fail(err)
	}
	return err
}

// closeSpool moves what is left. The owner's file must stay if that fails.
func (j *Journal) closeSpool() error {
	s := j.spool
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if !again {
		close(s.closing)
		<-s.done
	}
	return j.flush()
}
