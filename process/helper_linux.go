package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The helper is this executable under another name. It finds its end of a socket
// pair and the streams of the process at these descriptors; its own are empty.
const (
	helperName = "callgate-process-helper"
	helperEnv  = "CALLGATE_PROCESS_HELPER"

	ctlFD = 3
	inFD  = 4
	outFD = 5
	errFD = 6
)

// A request is what the caller tells the helper, a frame each: first the spec,
// later when to stop. The end of the stream means that the caller is gone.
type request struct {
	// Bytes, because JSON has no way to write text that is not UTF-8.
	Args, Env [][]byte `json:",omitempty"`
	Dir, Temp []byte   `json:",omitempty"`

	Grace time.Duration `json:",omitempty"` // stop
}

// A report is what the helper tells the caller: that the process has started or
// why not, and how all of it has ended.
type report struct {
	Starting bool          `json:",omitempty"` // what comes now is seen by others
	Started  int           `json:",omitempty"` // the pid
	Errno    syscall.Errno `json:",omitempty"`
	Failed   string        `json:",omitempty"`
	End      *end          `json:",omitempty"`
}

// writeFrame and readFrame move one JSON value with its length before it, so that
// nothing of the next one is read with it: who waits for a next one polls.
func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readFrame(r io.Reader, v any) error {
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
	if len(os.Args) != 1 || os.Args[0] != helperName || os.Getenv(helperEnv) == "" {
		armed = true
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

// help is the life of the helper. It starts no goroutine, nor anything that does:
// what the threads of a runtime do to each other costs more than the process.
func help() int {
	// Whatever was open in the caller, and is not marked to be closed, ends here.
	unix.CloseRange(ctlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	ctl := control(ctlFD)
	var req request
	if err := readFrame(ctl, &req); err != nil {
		return 1
	}
	temp := string(req.Temp)
	defer removeTemp(temp)
	pid, err := startIn(req, func() { writeFrame(ctl, report{Starting: true}) })
	for _, fd := range []int{inFD, outFD, errFD} {
		unix.Close(fd) // the process has them; the end of its output is the end of it
	}
	if err != nil {
		r := report{Failed: err.Error()}
		if errors.As(err, &r.Errno) {
			r.Failed = strings.TrimSuffix(strings.TrimSuffix(r.Failed, r.Errno.Error()), ": ")
		}
		writeFrame(ctl, r)
		return 0
	}
	// The process may send signals to its parent, of which only SIGKILL and SIGSTOP
	// shall work. Not sooner: it would have inherited this.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGALRM, syscall.SIGVTALRM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGIO, syscall.SIGPWR, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	writeFrame(ctl, report{Started: pid})
	w := warden{ctl: ctl, pid: pid}
	w.watch()
	removeTemp(temp)
	writeFrame(ctl, report{End: &w.end})
	return 0
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

// startIn makes what the process needs and starts it, after a word to the caller.
// What confines a process is to stand before that, on the thread that starts it: a
// failure there is an error of the start, and never output of the process.
func startIn(req request, starting func()) (pid int, err error) {
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
	starting()
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
