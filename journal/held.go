package journal

import (
	"math"

	"github.com/callgate/callgate"
)

// A holding is a session that this process holds. Nobody else adds calls to it, so
// for the newest turns memory tells which calls have a row.
type holding struct {
	active bool  // it is known to be held: the transaction that took it is committed
	floor  int64 // calls of later turns have a row if and only if they are in noted
	newest int64 // turn
	noted  map[callgate.Identity]struct{}
}

// maxNoted bounds the memory for a session. Above it only the newest turn is kept; for
// calls of the others the database is asked.
const maxNoted = 4096

// none reports that there is no row of the call; it is false where that is not known.
func (h *holding) none(id callgate.Identity) bool {
	_, noted := h.noted[id]
	return int64(id.Turn) > h.floor && !noted
}

// note remembers that there is a row of the call, or may be.
func (h *holding) note(id callgate.Identity) {
	turn := int64(id.Turn)
	if turn <= h.floor {
		return
	}
	h.noted[id] = struct{}{}
	h.newest = max(h.newest, turn)
	if len(h.noted) <= maxNoted || h.newest == math.MinInt64 {
		return
	}
	h.floor = h.newest - 1
	for id := range h.noted {
		if int64(id.Turn) <= h.floor {
			delete(h.noted, id)
		}
	}
}

// hold begins to note the calls of a session, within the transaction that takes it:
// each later one that writes a claim notes it. Calls of turns up to newest may have
// rows already.
func (s *spool) hold(session string, newest int64) *holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &holding{floor: newest, newest: newest, noted: map[callgate.Identity]struct{}{}}
	s.held[session] = h
	return h
}

// confirm says that the transaction is committed.
func (s *spool) confirm(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.active = true
}

// release ends the holding of a session, if it is h or h is nil. What is spooled of
// it goes into the database with the next transaction.
func (s *spool) release(session string, h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil || s.held[session] == h {
		delete(s.held, session)
	}
}

// note says that a row of the call was written past the spool, or that there was one.
func (s *spool) note(id callgate.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[id.Session]; h != nil {
		h.note(id)
	}
}
