package builtin

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/artifact"
)

// jobWindow is how much of a job's newest output is held in memory at least, in
// bytes: more than one answer shows.
const jobWindow = 64 << 10

// A jobLog is what a job has printed. All of it can be read by offset while the job
// runs: the newest from memory, what is older from the file that becomes an artifact
// when the job has ended. Without a store, or when that is full, only the newest is
// there. It is safe for concurrent use.
type jobLog struct {
	store *artifact.Store
	live  func([]byte)

	mu     sync.Mutex
	recent []byte // the newest output
	total  int64  // bytes printed so far
	newest time.Time
	w      *artifact.Writer // of all output once it is long; nil after keep
	err    error            // why there is no w
	ref    string           // of the artifact
	wake   chan struct{}    // closed when something is printed, if somebody waits for that
}

func (l *jobLog) Write(p []byte) (int, error) {
	if l.live != nil {
		l.live(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent = append(l.recent, p...)
	l.total += int64(len(p))
	l.newest = time.Now()
	switch {
	case l.store == nil || l.err != nil || l.total <= shownHead+shownTail:
	case l.w == nil: // recent is all there was
		if l.w, l.err = l.store.Create(0); l.err == nil {
			_, l.err = l.w.Write(l.recent)
		}
	default:
		_, l.err = l.w.Write(p)
	}
	if l.err != nil {
		l.drop()
	}
	if len(l.recent) > 2*jobWindow {
		l.recent = append(l.recent[:0], l.recent[len(l.recent)-jobWindow:]...)
	}
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
	return len(p), nil // what cannot be kept does not stop the job
}

// drop gives up what was written to the store. The caller holds mu.
func (l *jobLog) drop() {
	if l.w != nil {
		l.w.Close()
		l.w = nil
	}
}

// close ends the writing of what nobody asked for.
func (l *jobLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

// keep makes an artifact of a long output. It is for a job that has ended. The
// reference is "" for an output that is short, or cannot be kept.
func (l *jobLog) keep() (ref string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w != nil {
		a, err := l.w.Commit()
		l.drop()
		if err != nil {
			l.err = err
		} else {
			l.ref = a.Ref()
		}
	}
	return l.ref, l.err
}

// size returns the number of bytes printed so far, and when the last one was.
func (l *jobLog) size() (total int64, newest time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.newest
}

// more returns a channel that is closed when more than total bytes are printed.
func (l *jobLog) more(total int64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total > total {
		c := make(chan struct{})
		close(c)
		return c
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake
}

// A jobView is the part of a job's output that one answer shows. Offsets count
// bytes from the start of the output.
type jobView struct {
	text   string
	from   int64 // where it begins
	next   int64 // where what comes after it begins
	total  int64 // bytes of output, those after next included
	gone   int64 // bytes before from that were asked for and are not there any more
	omit   int64 // bytes between from and next that are not in text
	omitAt int64 // where they begin
}

// since returns the view of everything from an offset on: of more than an answer
// takes the start and the end. With lines it is the last so many lines. An output
// that goes on may end within a character, which is left for the next view.
func (l *jobLog) since(from int64, lines int, ended bool) (v jobView, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.begin(&v, from, ended)
	var head, tail []byte
	size := end - v.from
	switch {
	case lines > 0:
		if tail, err = l.read(max(v.from, end-shownHead-shownTail), end); err == nil {
			tail = lastLines(tail, lines)
		}
	case size <= shownHead+shownTail:
		tail, err = l.read(v.from, end)
	default:
		if head, err = l.read(v.from, v.from+shownHead); err == nil {
			tail, err = l.read(end-shownTail, end)
		}
		head, tail = ends(head, tail)
	}
	if err != nil {
		return v, err
	}
	v.next, v.omit, v.omitAt = end, size-int64(len(head)+len(tail)), v.from+int64(len(head))
	v.show(head, tail)
	return v, nil
}

// page returns the view of as much from an offset on as an answer takes.
func (l *jobLog) page(from int64, ended bool) (v jobView, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.begin(&v, from, ended)
	body, err := l.read(v.from, min(end, v.from+shownHead+shownTail))
	if err != nil {
		return v, err
	}
	if v.from+int64(len(body)) < end {
		body, _ = ends(body, nil)
	}
	v.next = v.from + int64(len(body))
	v.show(body, nil)
	return v, nil
}

// begin fills in where a view from an offset on can begin, and returns where it has
// to end. The caller holds mu.
func (l *jobLog) begin(v *jobView, from int64, ended bool) (end int64) {
	v.total, end = l.total, l.total
	if n := len(l.recent); n > 0 && !ended {
		if i := lastRune(l.recent); !utf8.FullRune(l.recent[i:]) {
			end -= int64(n - i)
		}
	}
	v.from = max(from, l.first())
	v.gone = v.from - from
	v.from = min(v.from, end)
	return max(end, v.from)
}

// first returns the offset from which on the output can be read.
func (l *jobLog) first() int64 {
	if l.w != nil {
		return 0
	}
	return l.total - int64(len(l.recent))
}

// read returns the output between two offsets, of which the first is not before
// first.
func (l *jobLog) read(from, to int64) ([]byte, error) {
	if start := l.total - int64(len(l.recent)); from >= start {
		return bytes.Clone(l.recent[from-start : to-start]), nil
	}
	b := make([]byte, to-from)
	_, err := l.w.ReadAt(b, from)
	return b, err
}

// show makes the text of what stands at the start and at the end of a view.
func (v *jobView) show(head, tail []byte) {
	whole := append(bytes.Clone(head), tail...)
	switch {
	case noText(whole):
		v.text = fmt.Sprintf("(binary output: %d bytes, %s)", v.next-v.from, http.DetectContentType(whole))
	case v.omit > 0:
		mark := fmt.Sprintf("[... %d bytes left out ...]\n", v.omit)
		if len(head) > 0 && head[len(head)-1] != '\n' {
			mark = "\n" + mark
		}
		v.text = string(head) + mark + strings.TrimSuffix(string(tail), "\n")
	default:
		v.text = strings.TrimSuffix(string(whole), "\n")
	}
}

// lastLines returns the last n lines of b.
func lastLines(b []byte, n int) []byte {
	at := len(bytes.TrimSuffix(b, []byte("\n")))
	for ; n > 0 && at >= 0; n-- {
		at = bytes.LastIndexByte(b[:at], '\n')
	}
	return b[at+1:]
}
