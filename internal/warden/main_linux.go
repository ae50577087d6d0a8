package warden

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The helper is this executable under another name. It finds its end of a socket
// pair and the streams of the process at these descriptors; its own are empty.
const (
	Name = "callgate-process-helper" // the only argument
	Env  = "CALLGATE_PROCESS_HELPER" // the variable that has to be set

	ctlFD = 3
	inFD  = 4
	outFD = 5
	errFD = 6
)

// A Request is what the caller tells the helper, a frame each: first the spec,
// later when to stop. The end of the stream means that the caller is gone.
type Request struct {
	// Bytes, because JSON has no way to write text that is not UTF-8.
	Args, Env [][]byte `json:",omitempty"`
	Dir, Temp []byte   `json:",omitempty"`
	Plan      *Plan    `json:",omitempty"` // nil: no sandbox

	Grace time.Duration `json:",omitempty"` // stop
}

// A Report is what the helper tells the caller: that the process has started or
// why not, and how all of it has ended.
type Report struct {
	Starting bool          `json:",omitempty"` // what comes now is seen by others
	Started  int           `json:",omitempty"` // the pid
	Errno    syscall.Errno `json:",omitempty"`
	Failed   string        `json:",omitempty"`
	Stage    string        `json:",omitempty"` // of the sandbox, which failed
	Listen   []string      `json:",omitempty"` // listeners whose descriptors follow
	End      *End          `json:",omitempty"`
}

// WriteFrame and ReadFrame move one JSON value with its length before it, so that
// nothing of the next one is read with it: who waits for a next one polls.
func WriteFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func ReadFrame(r io.Reader, v any) error {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// The helper lives and ends here, and not in func main: a program with a database and a
// JSON Schema engine spends ten times as long on initializing these as the helper needs
// for its work, for each process anew.
func init() {
	if len(os.Args) != 1 || os.Args[0] != Name || os.Getenv(Env) == "" {
		return
	}
	if !hasCaller() {
		// The caller was killed before we came this far, or somebody found the
		// name. To go on would be to run the program's own main, a second time
		// and without anybody who knows of it.
		os.Exit(1)
	}
	os.Exit(help())
}

// hasCaller reports whether we were started by launch, in a process that still lives:
// it holds the other end of our socket.
func hasCaller() bool {
	cred, err := unix.GetsockoptUcred(ctlFD, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(cred.Pid) == os.Getppid() && int(cred.Uid) == os.Getuid()
}

// help is the life of the helper. It starts no goroutine, nor anything that does, but
// the one that starts a restricted process: what the threads of a runtime do to each
// other costs more than the process.
func help() int {
	// Whatever was open in the caller, and is not marked to be closed, ends here.
	unix.CloseRange(ctlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	// Nobody but root may look into the helper, whose memory holds all that it was told.
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	ctl := control(ctlFD)
	var req Request
	if err := ReadFrame(ctl, &req); err != nil {
		return 1
	}
	temp := string(req.Temp)
	s := starter{req: req, ctl: ctl}
	defer s.clean()
	pid, err := s.start()
	for _, fd := range []int{inFD, outFD, errFD} {
		unix.Close(fd) // the process has them; the end of its output is the end of it
	}
	if err != nil {
		WriteFrame(ctl, failure(err))
		return 0
	}
	// The process may send signals to its parent, of which only SIGKILL and SIGSTOP
	// shall work. Not sooner: it would have inherited this.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGALRM, syscall.SIGVTALRM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGIO, syscall.SIGPWR, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	WriteFrame(ctl, Report{Started: pid})
	w := warden{ctl: ctl, pid: pid}
	w.watch()
	RemoveTemp(temp)
	for _, m := range s.groups {
		u := m.used()
		w.end.OutOfMemory = w.end.OutOfMemory || u.OutOfMemory
		w.end.OutOfProcesses = w.end.OutOfProcesses || u.OutOfProcesses
	}
	WriteFrame(ctl, Report{End: &w.end})
	return 0
}

// failure is the report of an error of the start.
func failure(err error) Report {
	r := Report{Failed: err.Error()}
	if st, ok := errors.AsType[*stageError](err); ok {
		r.Stage, r.Failed = st.stage, st.err.Error()
	}
	if errors.As(err, &r.Errno) {
		r.Failed = strings.TrimSuffix(strings.TrimSuffix(r.Failed, r.Errno.Error()), ": ")
	}
	return r
}

// A control is the helper's end of the socket pair.
type control int

func (c control) Read(p []byte) (n int, err error) {
	for {
		n, err = unix.Read(int(c), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (c control) Write(p []byte) (int, error) {
	// No SIGPIPE: a caller that is gone is the most usual end.
	return len(p), unix.Send(int(c), p, unix.MSG_NOSIGNAL)
}

// A starter starts the process, confined as the request says.
type starter struct {
	req    Request
	ctl    control
	groups []membership
}

// clean removes what was made for the process.
func (s *starter) clean() {
	RemoveTemp(string(s.req.Temp))
	for _, m := range s.groups {
		m.leave()
	}
}

// start makes what the process needs and starts it, after a word to the caller. What
// confines the process stands before that: a failure there is an error of the start,
// and never output of the process.
func (s *starter) start() (pid int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become a subreaper: %w", err)
	}
	p := s.req.Plan
	if p != nil {
		if err := s.confine(p); err != nil {
			return 0, err
		}
	}
	var args, env []string
	for _, a := range s.req.Args {
		args = append(args, string(a))
	}
	search := DefaultPath
	for _, kv := range s.req.Env {
		env = append(env, string(kv))
		if p, ok := strings.CutPrefix(string(kv), "PATH="); ok {
			search = p
		}
	}
	dir, temp := string(s.req.Dir), string(s.req.Temp)
	if err := os.Mkdir(temp, 0o700); err != nil {
		return 0, err
	}
	if err := os.Mkdir(PrivateHome(temp), 0o700); err != nil {
		return 0, err
	}
	program, err := lookPath(args[0], dir, search)
	if err != nil {
		return 0, err
	}
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // no core files in the workspace
	fork := func() (int, error) {
		return syscall.ForkExec(program, args, &syscall.ProcAttr{
			Dir: dir, Env: env, Files: []uintptr{inFD, outFD, errFD},
			Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
		})
	}
	WriteFrame(s.ctl, Report{Starting: true})
	if p == nil {
		pid, err = fork()
	} else {
		pid, err = startRestricted(p, fork)
		if err == nil && p.AddressSpace > 0 {
			err = limitMemory(pid, p.AddressSpace)
		}
	}
	if errors.Is(err, syscall.E2BIG) {
		return 0, fmt.Errorf("the command line is longer than the system takes (128 KiB in one argument); put it into a file: %w", err)
	}
	return pid, err
}

// confine does what holds for the helper, too: groups, the view of files, the network,
// limits.
func (s *starter) confine(p *Plan) error {
	for i := range p.Cgroups {
		m, err := p.Cgroups[i].join()
		if err != nil {
			return err
		}
		s.groups = append(s.groups, m)
	}
	if p.Isolated {
		if !p.FullNet {
			if err := loopback(); err != nil {
				return err
			}
		}
		if len(p.Listeners) > 0 {
			if err := passListeners(s.ctl, p.Listeners); err != nil {
				return &stageError{"egress", err}
			}
		}
		if err := isolate(p); err != nil {
			return err
		}
	}
	return limit(p)
}

// lookPath finds the program as exec.LookPath does, in the PATH and the directory
// that the process will have.
func lookPath(name, dir, search string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // after the change of directory
	}
	err := error(syscall.ENOENT)
	for d := range strings.SplitSeq(search, ":") {
		p := d + "/" + name
		if !strings.HasPrefix(d, "/") {
			p = dir + "/" + d + "/" + name
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
