package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Stream is what is kept of an output: all of it, or its start and its end.
// The bytes are as they were written and may be anything.
type Stream struct {
	Head, Tail []byte
	// Total is the number of bytes that were written, those left out included.
	Total int64
	// Err is the error of the Command's writer for this stream, if it had one.
	Err error
}

// Omitted is the number of bytes between Head and Tail that were not kept.
func (s Stream) Omitted() int64 { return s.Total - int64(len(s.Head)+len(s.Tail)) }

// String returns what was kept, with a line in place of what was not.
func (s Stream) String() string {
	if n := s.Omitted(); n > 0 {
		return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", s.Head, n, s.Tail)
	}
	return string(s.Head) + string(s.Tail)
}

// A keeper keeps the start and the end of what is written to it.
type keeper struct {
	mu    sync.Mutex
	keep  int
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the oldest byte of a full ring is
	total int64
	err   error
}

func (k *keeper) add(p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total += int64(len(p))
	n := min(k.keep/5-len(k.head), len(p))
	k.head = append(k.head, p[:n]...)
	p = p[n:]
	size := k.keep - k.keep/5
	if len(p) > size {
		p = p[len(p)-size:]
	}
	n = min(size-len(k.tail), len(p))
	k.tail = append(k.tail, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(k.tail[k.at:], p)
		k.at = (k.at + n) % size
	}
}

func (k *keeper) stream() Stream {
	k.mu.Lock()
	defer k.mu.Unlock()
	tail := append(append([]byte(nil), k.tail[k.at:]...), k.tail[:k.at]...)
	return Stream{Head: append([]byte(nil), k.head...), Tail: tail, Total: k.total, Err: k.err}
}

// streams are the pipes between us and a process. Output goes through pipes, not
// straight to a file: "echo x > /dev/stdout" would empty the file, a flood would
// fill the disk between two looks at its size. A pipe holds its writer up.
type streams struct {
	theirs  [3]*os.File // stdin, stdout, stderr of the process
	in      *os.File    // nil if there is no input
	out     []*os.File
	keepers []*keeper
	readers []chan struct{}
}

func newStreams(cmd *Command) (s *streams, err error) {
	s = new(streams)
	defer func() {
		if err != nil {
			s.closeTheirs()
			s.closeOurs()
		}
	}()
	if cmd.Stdin == nil {
		s.theirs[0], err = os.Open(os.DevNull)
	} else {
		s.theirs[0], s.in, err = os.Pipe()
	}
	if err != nil {
		return s, err
	}
	n := 1
	if cmd.Split {
		n = 2
	}
	for i := range n {
		r, w, err := os.Pipe()
		if err != nil {
			return s, err
		}
		s.theirs[1+i] = w
		s.out = append(s.out, r)
		s.keepers = append(s.keepers, &keeper{keep: cmd.Keep})
	}
	if !cmd.Split {
		s.theirs[2] = s.theirs[1]
	}
	return s, nil
}

func (s *streams) closeTheirs() {
	for _, f := range s.theirs {
		if f != nil {
			f.Close() // the second Close of a shared one does nothing
		}
	}
}

func (s *streams) closeOurs() {
	if s.in != nil {
		s.in.Close()
	}
	for _, f := range s.out {
		f.Close()
	}
}

// start moves the input and the output and closes over when there was more than
// the limit.
func (s *streams) start(cmd *Command, over chan struct{}) {
	if s.in != nil {
		go func() {
			io.Copy(s.in, cmd.Stdin) // a process that does not read its input has that right
			s.in.Close()
		}()
	}
	var total atomic.Int64
	once := sync.OnceFunc(func() { close(over) })
	for i, r := range s.out {
		done := make(chan struct{})
		s.readers = append(s.readers, done)
		k, w := s.keepers[i], cmd.Output
		if i == 1 {
			w = cmd.Stderr
		}
		go func() {
			defer close(done)
			buf := make([]byte, 64<<10)
			for {
				n, err := r.Read(buf)
				// What comes after the limit is read, so that nobody blocks, and dropped.
				room := cmd.Limit - total.Add(int64(n)) + int64(n)
				if room < int64(n) {
					once()
				}
				if p := buf[:max(0, min(int64(n), room))]; len(p) > 0 {
					k.add(p)
					w = k.pass(w, p)
				}
				if err != nil {
					return
				}
			}
		}()
	}
}

// pass hands p on to w and returns the writer for what comes next.
func (k *keeper) pass(w io.Writer, p []byte) io.Writer {
	if w == nil {
		return nil
	}
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return w
	}
	k.mu.Lock()
	k.err = err
	k.mu.Unlock()
	return nil
}

// finish reads what is left in the pipes. The processes are gone, so the ends are
// near; only one that could not be killed can still hold them, or a writer of
// ours that does not return.
func (s *streams) finish() (output, stderr Stream) {
	deadline := time.Now().Add(drain)
	for _, r := range s.out {
		r.SetReadDeadline(deadline)
	}
	timer := time.NewTimer(2 * drain)
	defer timer.Stop()
	for i, done := range s.readers {
		select {
		case <-done:
		case <-timer.C:
			timer.Reset(0)
			k := s.keepers[i]
			k.mu.Lock()
			if k.err == nil {
				k.err = errors.New("process: the writer of the output did not return")
			}
			k.mu.Unlock()
		}
	}
	s.closeOurs()
	output = s.keepers[0].stream()
	if len(s.keepers) > 1 {
		stderr = s.keepers[1].stream()
	}
	return output, stderr
}
