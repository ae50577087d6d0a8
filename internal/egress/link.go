package egress

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A link is a connection, of the process or to a host, that Close ends. Whoever has it
// must close it.
type link struct {
	net.Conn
	ahead  io.Reader // what was read before, and then Conn; nil: Conn
	target target    // of a connection of the process: whom it is for, if that is known
	once   sync.Once
	done   func()
}

func (l *link) Read(p []byte) (int, error) {
	if l.ahead != nil {
		return l.ahead.Read(p)
	}
	return l.Conn.Read(p)
}

// Close closes the connection and leaves the gate.
func (l *link) Close() error {
	err := l.Conn.Close()
	l.once.Do(l.done)
	return err
}

// CloseWrite says to the other side that nothing more will come.
func (l *link) CloseWrite() error {
	if c, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// link makes c a connection of the gate. done is called when it is closed.
func (g *Gate) link(c net.Conn, done func()) (*link, error) {
	if !g.enter(c) {
		c.Close()
		done()
		return nil, net.ErrClosed
	}
	return &link{Conn: c, done: func() { done(); g.leave(c) }}, nil
}

// A listener hands out links, no more at once than there are slots.
type listener struct {
	net.Listener
	g *Gate
}

func (l *listener) Accept() (net.Conn, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		c, err := l.Listener.Accept()
		if err == nil {
			return l.admit(c)
		}
		// Out of descriptors, or the peer was gone before we came.
		if te, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); !ok || !te.Temporary() {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-l.g.ctx.Done():
			return nil, net.ErrClosed
		}
	}
}

// admit waits for a slot.
func (l *listener) admit(c net.Conn) (net.Conn, error) {
	select {
	case l.g.slots <- struct{}{}:
		return l.g.link(c, func() { <-l.g.slots })
	case <-l.g.ctx.Done():
		c.Close()
		return nil, net.ErrClosed
	}
}

// single is a listener for one connection that is there already.
type single struct{ c net.Conn }

func (s *single) Accept() (c net.Conn, err error) {
	if s.c == nil {
		return nil, net.ErrClosed
	}
	c, s.c = s.c, nil
	return c, nil
}

func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{} }

// join moves bytes between a and b until both sides have ended, and closes both. What
// comes from a passes after vet has agreed. A side that ends is told to the other one,
// which may go on: a request is often followed by the end of what its sender has to say.
// After that, lingerTime without a byte ends all, because a peer that is gone looks the
// same.
func join(a, b *link, vet func() error) error {
	var one atomic.Bool // side has ended
	stop := func() { a.Close(); b.Close() }
	defer stop()
	pour := func(dst, src *link) {
		if err := pour(dst, src, &one); err != nil || one.Swap(true) || dst.CloseWrite() != nil {
			stop()
			return
		}
		dst.SetReadDeadline(time.Now().Add(lingerTime)) // for the other direction, which waits in Read
	}
	var wg sync.WaitGroup
	wg.Go(func() { pour(a, b) })
	err := vet()
	if err == nil {
		pour(b, a)
	} else {
		stop()
	}
	wg.Wait()
	return err
}

// pour copies until the end of src. It does not use splice(2), which would hide the
// progress that the deadline is about.
func pour(dst, src *link, one *atomic.Bool) error {
	buf := make([]byte, 32<<10)
	for {
		if one.Load() {
			src.SetReadDeadline(time.Now().Add(lingerTime))
		}
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
