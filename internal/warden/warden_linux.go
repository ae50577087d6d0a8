package warden

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KillTime is how long we go on killing before what is left counts as survivors.
const KillTime = 5 * time.Second

// A warden is the helper while its process runs: it waits for the process and for
// all that comes from it, and ends it when it has to.
type warden struct {
	ctl control
	pid int
	end End

	exited bool // the process
	empty  bool // no child is left, so no descendant: orphans come to us
	gone   bool // the caller is
	stop   bool // the caller said so
	grace  time.Duration
}

// watch returns when nothing is left.
func (w *warden) watch() {
	pidfd, err := unix.PidfdOpen(w.pid, 0)
	if err != nil {
		pidfd = -1 // the wait below is in steps then
	}
	for !w.exited && !w.stop && !w.gone {
		// Orphans that end meanwhile interrupt the wait, or are reaped a little later.
		w.wait(time.Second, pidfd)
	}
	unix.Close(pidfd)
	w.end.Stopped = !w.exited
	grace := w.grace
	if w.exited && !w.gone {
		w.until(Settle)
		if !w.empty {
			w.end.Background = len(descendants())
		}
		grace = SettleTerm
	}
	if !w.empty && !w.gone && grace > 0 {
		signalAll(syscall.SIGTERM)
		signalAll(syscall.SIGCONT) // a stopped one would not hear it
		w.until(grace)
	}
	for begin := time.Now(); !w.empty; {
		signalAll(syscall.SIGKILL)
		w.reap()
		since := time.Since(begin)
		if since > KillTime {
			break
		}
		if d := min(since/4, 20*time.Millisecond); d > time.Millisecond && !w.empty {
			time.Sleep(d) // at first without a pause: what forks must not get ahead
		}
	}
	if !w.empty {
		w.end.Survivors = len(descendants())
	}
	if !w.exited {
		w.end.Code, w.end.Signal = 128+int(syscall.SIGKILL), "SIGKILL"
	}
}

// until waits for d at most, less if all has ended or the caller has no patience.
func (w *warden) until(d time.Duration) {
	w.stop = false
	pause := 250 * time.Microsecond
	for deadline := time.Now().Add(d); ; {
		w.reap()
		left := time.Until(deadline)
		if w.empty || w.gone || w.stop && w.grace == 0 || left <= 0 {
			return
		}
		w.wait(min(pause, left), -1)
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// wait waits for a word of the caller's, for the end of pidfd's process if there
// is one, for a signal, and for d at most; then it takes in what there is.
func (w *warden) wait(d time.Duration, pidfd int) {
	fds := []unix.PollFd{{Fd: int32(w.ctl), Events: unix.POLLIN}, {Fd: int32(pidfd), Events: unix.POLLIN}}
	if w.gone {
		fds[0].Fd = -1
	}
	ts := unix.NsecToTimespec(int64(d))
	if n, _ := unix.Ppoll(fds, &ts, nil); n > 0 && fds[0].Revents != 0 {
		var req Request
		if err := ReadFrame(w.ctl, &req); err != nil {
			w.gone = true
		} else {
			w.stop, w.grace = true, req.Grace
		}
	}
	w.reap()
}

// reap takes leave of the children that have ended.
func (w *warden) reap() {
	for {
		var ws syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil); {
		case err == syscall.EINTR:
		case err != nil:
			w.empty = true
			return
		case pid == 0:
			return
		case pid == w.pid:
			w.exited = true
			w.end.Code = ws.ExitStatus()
			if ws.Signaled() {
				w.end.Code, w.end.Signal = 128+int(ws.Signal()), unix.SignalName(ws.Signal())
			}
		}
	}
}
