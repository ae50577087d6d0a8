package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A writer owns the one connection that writes. Changes that arrive while it
// commits share the next transaction, and so one fsync: the calls of a turn cost
// about two before their handlers start and two after, however many they are. The nil
// writer is that of a journal which was opened to read, and refuses.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	sync  bool // the connection syncs each commit

	changes  chan *change
	closing  chan struct{}
	closed   chan struct{}
	once     sync.Once
	closeErr error

	spool           *spool       // each transaction begins with its rows
	head            Head         // of the chain, after the last row that was appended
	told            Head         // to onHead
	onHead          func(Head)   // may be nil
	commits, synced atomic.Int64 // so far
	slow            func()       // in tests: before each synced commit
}

// A change is what one caller wants written. do may be called twice: again alone
// if the transaction that it shared failed.
type change struct {
	do      func(*writer) error
	durable bool // on disk before it is answered
	alone   bool // not within a transaction
	err     error
	done    chan struct{}
}

// maxBatch bounds how long others wait for a transaction.
const maxBatch = 256

func openWriter(dsn string) (*writer, error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	if err := migrate(ctx, conn); err != nil {
		conn.Close()
		db.Close()
		return nil, err
	}
	w := &writer{
		db: db, conn: conn, stmts: map[string]*sql.Stmt{}, sync: true,
		changes: make(chan *change, maxBatch), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	go w.loop()
	return w, nil
}

// do makes a change, and returns when it is committed or failed. It does not heed
// a context: a change that may or may not come would be of no use.
func (w *writer) do(durable bool, f func(*writer) error) error {
	return w.hand(&change{do: f, durable: durable})
}

// hand gives a change to the loop and waits for it.
func (w *writer) hand(c *change) error {
	if w == nil {
		return ErrReadOnly
	}
	c.done = make(chan struct{})
	select {
	case <-w.closing:
		return ErrClosed
	case w.changes <- c:
	}
	select {
	case <-c.done:
		return c.err
	case <-w.closed:
		select {
		case <-c.done:
			return c.err
		default:
			return ErrClosed // it came too late to be taken
		}
	}
}

func (w *writer) loop() {
	defer close(w.closed)
	for {
		var batch []*change
		select {
		case c := <-w.changes:
			batch = append(batch, c)
		case <-w.closing:
		}
		for len(batch) < maxBatch {
			select {
			case c := <-w.changes:
				batch = append(batch, c)
				continue
			default:
			}
			break
		}
		if len(batch) == 0 {
			return
		}
		w.commit(batch)
	}
}

// commit writes a batch in one transaction. If that fails, each change has a
// transaction of its own: one that cannot be written must not stop the others.
func (w *writer) commit(batch []*change) {
	batch = slices.DeleteFunc(batch, func(c *change) bool {
		if c.alone {
			defer close(c.done)
			c.err = c.attempt(w)
		}
		return c.alone
	})
	if len(batch) == 0 {
		return
	}
	err := w.transact(batch)
	if err != nil && len(batch) > 1 {
		for _, c := range batch {
			c.err = w.transact([]*change{c})
			close(c.done)
		}
		return
	}
	for _, c := range batch {
		c.err = err
		close(c.done)
	}
}

func (w *writer) transact(batch []*change) (err error) {
	durable := false
	for _, c := range batch {
		durable = durable || c.durable
	}
	if durable != w.sync {
		// NORMAL does not sync the log at a commit; FULL syncs all of it.
		level := map[bool]string{true: "FULL", false: "NORMAL"}[durable]
		// Not prepared: SQLite obeys this one when it is compiled.
		if _, err := w.conn.ExecContext(context.Background(), `PRAGMA synchronous = `+level); err != nil {
			return err
		}
		w.sync = durable
	}
	if err := w.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	before := w.head
	var m *move
	defer func() {
		if err != nil {
			w.head = before    // what was appended is not there
			w.exec(`ROLLBACK`) // fails if SQLite has rolled back itself
		}
		w.spool.finish(m, false)
	}()
	if m = w.spool.take(); m != nil {
		if err := (&change{do: m.write}).attempt(w); err != nil {
			return fmt.Errorf("rows of earlier reads cannot be written: %w", err)
		}
	}
	for _, c := range batch {
		if err := c.attempt(w); err != nil {
			return err
		}
	}
	if durable && w.slow != nil {
		w.slow()
	}
	if err := w.exec(`COMMIT`); err != nil {
		return err
	}
	w.spool.finish(m, true)
	m = nil
	if w.onHead != nil && durable && w.head != w.told {
		w.told = w.head
		w.onHead(w.head)
	}
	w.commits.Add(1)
	if durable {
		w.synced.Add(1)
	}
	return nil
}

// attempt contains a panic: the writer must outlive it.
func (c *change) attempt(w *writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.do(w)
}

// stmt returns the prepared statement of a query, which is prepared once.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

func (w *writer) exec(query string, args ...any) error {
	_, err := w.run(query, args...)
	return err
}

func (w *writer) run(query string, args ...any) (sql.Result, error) {
	s, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

// empty writes the log into the file and truncates it, so that nothing which was
// removed stays in it. Somebody who reads the file holds that up; it is tried again
// until the limit. No attempt waits: others could not write meanwhile.
func (w *writer) empty(ctx context.Context, limit time.Duration) error {
	pause := time.Millisecond
	for end := time.Now().Add(limit); ; pause = min(2*pause, 100*time.Millisecond) {
		busy := false
		err := w.hand(&change{alone: true, do: func(w *writer) (err error) {
			busy, err = w.truncate(limit)
			return err
		}})
		switch {
		case err != nil:
			return err
		case !busy:
			return nil
		case !time.Now().Before(end):
			return fmt.Errorf("the log (-wal) could not be emptied within %v, because somebody reads the file; the next removal empties it, and so does the last who closes it", limit)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("the log (-wal) was not emptied: %w", context.Cause(ctx))
		}
	}
}

// truncate empties the log unless somebody is in the way.
func (w *writer) truncate(timeout time.Duration) (busy bool, err error) {
	ctx := context.Background()
	if _, err := w.conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return false, err
	}
	var log, moved int64
	err = w.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved)
	_, resetErr := w.conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, timeout.Milliseconds()))
	return busy, errors.Join(err, resetErr)
}

// close commits what was handed over, and closes the connection.
func (w *writer) close() error {
	w.once.Do(func() {
		close(w.closing)
		<-w.closed
		for _, s := range w.stmts {
			s.Close()
		}
		w.conn.Close()
		w.closeErr = w.db.Close()
	})
	return w.closeErr
}
