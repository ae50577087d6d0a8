package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The helper is this executable under another name. It finds its end of a socket
// pair and the streams of the process at these descriptors; its own are empty.
const (
	helperName = "callgate-process-helper"
	helperEnv  = "CALLGATE_PROCESS_HELPER=1"

	ctlFD = 3
	inFD  = 4
	outFD = 5
	errFD = 6
)

// A request is what the caller tells the helper, one JSON value each: first the
// spec, later when to stop. The end of the stream means that the caller is gone.
type request struct {
	// Bytes, because JSON has no way to write text that is not UTF-8.
	Args, Env [][]byte `json:",omitempty"`
	Dir, Temp []byte   `json:",omitempty"`

	Stop  bool          `json:",omitempty"`
	Grace time.Duration `json:",omitempty"`
}

// A report is what the helper tells the caller: that the process has started or
// why not, and how all of it has ended.
type report struct {
	Started int           `json:",omitempty"` // the pid
	Errno   syscall.Errno `json:",omitempty"`
	Failed  string        `json:",omitempty"`
	End     *end          `json:",omitempty"`
}

// armed is set by Main: this program can be its own helper.
var armed bool

// Main has to be the first line of func main of a program that starts processes,
// and of TestMain of its tests:
//
//	func main() {
//		process.Main()
//		...
//
// On Linux the program is started a second time to watch over each process. In that
// second life Main does so and does not return. In the first one it returns at
// once. What comes before it, package variables and init functions too, runs in
// both lives. On other systems it does nothing.
func Main() {
	if !isHelper() {
		armed = true
		return
	}
	runtime.LockOSThread() // the process is told of the death of this very thread
	os.Exit(help())
}

// isHelper reports whether we are started by launch, and not by somebody who found
// the name: the caller holds the other end of our socket.
func isHelper() bool {
	if len(os.Args) != 1 || os.Args[0] != helperName || len(os.Environ()) == 0 || os.Environ()[0] != helperEnv {
		return false
	}
	cred, err := unix.GetsockoptUcred(ctlFD, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(cred.Pid) == os.Getppid() && int(cred.Uid) == os.Getuid()
}

// help is the life of the helper.
func help() int {
	// Whatever was open in the caller, and is not marked to be closed, ends here.
	unix.CloseRange(ctlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	// The process may send signals to its parent: only SIGKILL and SIGSTOP work. A
	// handler and not SIG_IGN, which the process would inherit.
	signal.Notify(make(chan os.Signal, 1))
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)

	ctl := os.NewFile(ctlFD, "control")
	in, out := json.NewDecoder(ctl), json.NewEncoder(ctl)
	var req request
	if err := in.Decode(&req); err != nil {
		return 1
	}
	temp := string(req.Temp)
	if temp != "" {
		defer removeTemp(temp)
	}
	pid, err := startIn(req)
	for _, fd := range []int{inFD, outFD, errFD} {
		unix.Close(fd) // the process has them; the end of its output is the end of it
	}
	if err != nil {
		r := report{Failed: err.Error()}
		if errors.As(err, &r.Errno) {
			r.Failed = strings.TrimSuffix(strings.TrimSuffix(r.Failed, r.Errno.Error()), ": ")
		}
		out.Encode(r)
		return 0
	}
	out.Encode(report{Started: pid})

	stops := make(chan time.Duration)
	go func() {
		for {
			var req request
			if in.Decode(&req) != nil { // nobody waits any more
				stops <- 0
				return
			}
			if req.Stop {
				stops <- req.Grace
			}
		}
	}()
	e := reap(pid, stops)
	removeTemp(temp)
	out.Encode(report{End: &e})
	return 0
}

// startIn makes what the process needs and starts it. What confines a process is
// to stand here: behind the caller's request, on the thread that starts it.
func startIn(req request) (pid int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become a subreaper: %w", err)
	}
	var args, env []string
	for _, a := range req.Args {
		args = append(args, string(a))
	}
	search := defaultPath
	for _, kv := range req.Env {
		env = append(env, string(kv))
		if p, ok := strings.CutPrefix(string(kv), "PATH="); ok {
			search = p
		}
	}
	dir, temp := string(req.Dir), string(req.Temp)
	if err := os.Mkdir(temp, 0o700); err != nil {
		return 0, err
	}
	if err := os.Mkdir(privateHome(temp), 0o700); err != nil {
		return 0, err
	}
	program, err := lookPath(args[0], dir, search)
	if err != nil {
		return 0, err
	}
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // no core files in the workspace
	pid, err = syscall.ForkExec(program, args, &syscall.ProcAttr{
		Dir: dir, Env: env, Files: []uintptr{inFD, outFD, errFD},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if errors.Is(err, syscall.E2BIG) {
		return 0, fmt.Errorf("the command line is longer than the system takes (128 KiB in one argument); put it into a file: %w", err)
	}
	return pid, err
}

// lookPath finds the program as exec.LookPath does, in the PATH and the directory
// that the process will have.
func lookPath(name, dir, search string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // after the change of directory
	}
	err := error(syscall.ENOENT)
	for _, d := range filepath.SplitList(search) {
		p := filepath.Join(d, name)
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		if st, e := os.Stat(p); e != nil || st.IsDir() {
			continue
		}
		if e := unix.Access(p, unix.X_OK); e == nil {
			return p, nil
		}
		err = syscall.EACCES
	}
	return "", err
}

// reap waits for the process and all that comes from it, and ends it when it has
// to: when the process has exited, and when a stop comes. It returns when nothing
// is left.
func reap(pid int, stops <-chan time.Duration) (e end) {
	exited := make(chan syscall.WaitStatus, 1)
	empty := make(chan struct{})
	go func() {
		for {
			var ws syscall.WaitStatus
			switch p, err := syscall.Wait4(-1, &ws, 0, nil); {
			case err == syscall.EINTR:
			case err != nil: // no children: no descendants, since orphans come to us
				close(empty)
				return
			case p == pid:
				exited <- ws
			}
		}
	}()
	status := func(ws syscall.WaitStatus) {
		e.Code = ws.ExitStatus()
		if ws.Signaled() {
			e.Code, e.Signal = 128+int(ws.Signal()), unix.SignalName(ws.Signal())
		}
		exited = nil
	}
	// next waits for d. It reports whether all has ended by then.
	next := func(d time.Duration) (done bool) {
		t := time.NewTimer(d)
		defer t.Stop()
		for {
			select {
			case <-empty:
				return true
			case g := <-stops: // a second one has less patience
				e.Stopped = e.Stopped || exited != nil
				if g == 0 {
					return false
				}
			case ws := <-exited:
				status(ws)
			case <-t.C:
				return false
			}
		}
	}

	done, grace := false, settleTerm
	select {
	case ws := <-exited:
		status(ws)
		if done = next(settle); !done {
			e.Background = len(descendants())
		}
	case grace = <-stops:
		e.Stopped = true
	}
	if !done && grace > 0 {
		signalAll(syscall.SIGTERM)
		signalAll(syscall.SIGCONT) // a stopped one would not hear it
		done = next(grace)
	}
	for begin := time.Now(); !done; {
		signalAll(syscall.SIGKILL)
		since := time.Since(begin)
		done = next(min(since/4, 20*time.Millisecond)) // at first without a pause: what forks must not get ahead
		if since > killTime {
			break
		}
	}
	if !done {
		e.Survivors = len(descendants())
	}
	if exited != nil {
		select {
		case ws := <-exited:
			status(ws)
		default:
			e.Code, e.Signal = 128+int(syscall.SIGKILL), "SIGKILL"
		}
	}
	return e
}
