package journal

import "errors"

// An adder writes rows that come whole, as a spool has them, within a transaction of w.
// It keeps the end of the chain, so nothing else may be appended meanwhile but by it.
type adder struct {
	w     *writer
	known bool
	seq   int64
	hash  []byte
}

// touch is [writer.touch], which may append the row of a session.
func (a *adder) touch(session string, at int64) (holder string, err error) {
	a.known = false
	return a.w.touch(session, at)
}

// add writes the row r, and puts it at the end of the chain if it is settled. A claim
// that is there is settled; a row that is there, by its owner and the time of its
// claim, is left as it is. If another row has its place in the session, which takes an
// owner whose file was removed while it lived, r gets the next number: both are kept.
// It fills in the id and the run.
func (a *adder) add(r *row, settled bool) error {
	if r.id == 0 {
		if done, err := a.insert(r, settled); err != nil || done {
			return err
		}
	} else if settled {
		if done, err := a.settle(r); err != nil || done {
			return err
		}
	}
	same, last, err := a.w.find(r, settled)
	switch {
	case err != nil:
		return err
	case same != nil:
		r.id, r.run = same.id, same.run
		if settled && same.open() {
			_, err = a.settle(r)
		}
		return err
	}
	r.id, r.run = 0, last+1
	done, err := a.insert(r, settled)
	if err == nil && !done {
		err = errors.New("a row cannot be written: its place is taken twice")
	}
	return err
}

// find returns the row that r is, nil if it is not there, and the number of the last
// run of the call.
func (w *writer) find(r *row, settled bool) (same *row, last int64, err error) {
	all, err := w.rows(`SELECT `+columns+` FROM calls WHERE session = ? AND turn = ? AND idx = ? ORDER BY run`, r.session, r.turn, r.index)
	last = -1
	for _, b := range all {
		last = b.run
		// One that somebody else settled, who took the owner for dead, is another.
		if b.owner == r.owner && b.claimed == r.claimed && (!settled || b.open() || b.ended == r.ended) {
			same = b
		}
	}
	return same, last, err
}

// insert writes the whole row, unless there is one of the same call and run.
func (a *adder) insert(r *row, settled bool) (bool, error) {
	var place any
	seq, err := a.next()
	if err != nil {
		return false, err
	}
	if settled {
		place = seq
	}
	res, err := a.w.run(`INSERT INTO calls (session, turn, idx, run, call_id, tool, source, tool_digest, effect, arguments, digest, redacted, verdict, rule, reason, approver, labels, sandbox, owner, claimed,
		started, ended, attempts, state, code, truncated, result, artifact, artifact_sum, seq)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		r.session, r.turn, r.index, r.run, r.callID, r.tool, r.source, r.toolDigest, r.effect, r.arguments, r.digest, r.redacted, r.verdict, r.rule, r.reason, r.by, r.labels, r.sandbox, r.owner, r.claimed,
		r.started, r.ended, r.attempts, r.state, r.code, r.truncated, notNil(r.result), r.artifact, notNil(r.artifactSum), place)
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return false, err
	}
	if r.id, err = res.LastInsertId(); err != nil || !settled {
		return true, err
	}
	return true, a.link(r)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// settle writes what became of the claim r, unless somebody has.
func (a *adder) settle(r *row) (bool, error) {
	seq, err := a.next()
	if err != nil {
		return false, err
	}
	done, err := a.w.update(r, seq)
	if err != nil || !done {
		return false, err
	}
	return true, a.link(r)
}

// next returns the place at the end of the chain.
func (a *adder) next() (_ int64, err error) {
	if !a.known {
		a.seq, a.hash, err = a.w.next()
		a.known = err == nil
	}
	return a.seq, err
}

func (a *adder) link(r *row) error {
	l := link{seq: a.seq, kind: kindCall, ref: r.id, digest: r.sum()}
	if err := a.w.link(&l, a.hash); err != nil {
		return err
	}
	a.seq, a.hash = a.seq+1, l.hash
	return nil
}
