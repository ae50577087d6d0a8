package builtin

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

type digest = [sha256.Size]byte

// maxSeen bounds what all sessions together remember, in files: about 4 MB. The
// file that was looked at longest ago is forgotten first; a forgotten file counts
// as never seen.
const maxSeen = 16_384

// A memory knows which content of a file a session last saw. A session's own
// write is something that it saw, so its edits are never outside changes. The
// zero value is empty.
type memory struct {
	mu    sync.Mutex
	max   int // 0 means maxSeen
	at    map[seenKey]*list.Element
	order list.List // of seenEntry, the latest in front
}

type seenKey struct{ session, path string } // path has no links

type seenEntry struct {
	key seenKey
	sum digest
}

// saw records that session knows path with this content. Nothing is remembered
// for calls without a session: they may be anybody's.
func (m *memory) saw(session, path string, sum digest) {
	if session == "" || path == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := seenKey{session, path}
	if e, ok := m.at[key]; ok {
		e.Value = seenEntry{key, sum}
		m.order.MoveToFront(e)
		return
	}
	if m.at == nil {
		m.at = make(map[seenKey]*list.Element)
	}
	m.at[key] = m.order.PushFront(seenEntry{key, sum})
	most := m.max
	if most == 0 {
		most = maxSeen
	}
	for m.order.Len() > most {
		last := m.order.Back()
		delete(m.at, last.Value.(seenEntry).key)
		m.order.Remove(last)
	}
}

// last returns the content that session last saw of path, if it saw any.
func (m *memory) last(session, path string) (sum digest, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.at[seenKey{session, path}]
	if !ok {
		return sum, false
	}
	m.order.MoveToFront(e)
	return e.Value.(seenEntry).sum, true
}
