package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/process"
)

// A site is where acts are tried: a workspace, and around it what they are to leave
// alone. All of it is made for the purpose and removed.
type site struct {
	level     process.Level
	workspace string
	out       string // a directory outside
	key       string // a file in the home that holds secret; "" if there is no home to write in
	secret    string
	victim    *victim // a process outside
	ports     [2]int  // of tcp and udp

	tcp, udp, unix atomic.Int32 // what has arrived

	ends []func() error
}

// secretName is the variable of the victim's environment that has the secret.
const secretName = "CALLGATE_DOCTOR_SECRET"

func openSite(ctx context.Context, level process.Level) (s *site, err error) {
	s = &site{level: level, secret: "secret-" + strings.ToLower(rand.Text())}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the acts cannot be tried: %w", err), s.close())
		}
	}()
	base, err := s.directory("")
	if err != nil {
		return nil, err
	}
	s.workspace = filepath.Join(base, "workspace")
	if err := os.MkdirAll(filepath.Join(s.workspace, ".git/hooks"), 0o700); err != nil {
		return nil, err
	}
	// Not where temporary files are: programs in the sandbox have that for themselves.
	if s.out, err = s.directory("/var/tmp"); err != nil {
		if s.out, err = s.directory(""); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(s.outside("file"), []byte("x\n"), 0o644); err != nil {
		return nil, err
	}
	if home, err := os.UserHomeDir(); err == nil {
		if dir, err := s.directory(home); err == nil {
			s.key = filepath.Join(dir, "id_doctor")
			if err := os.WriteFile(s.key, []byte(s.secret+"\n"), 0o600); err != nil {
				return nil, err
			}
		}
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	s.victim, err = s.startVictim(ctx)
	return s, err
}

// directory makes a directory in dir that close removes.
func (s *site) directory(dir string) (string, error) {
	d, err := os.MkdirTemp(dir, ".callgate-doctor-")
	if err == nil {
		s.ends = append(s.ends, func() error { return os.RemoveAll(d) })
	}
	return d, err
}

func (s *site) outside(name string) string { return filepath.Join(s.out, name) }

// close removes all of it, the last made first.
func (s *site) close() (err error) {
	for i := len(s.ends) - 1; i >= 0; i-- {
		err = errors.Join(err, s.ends[i]())
	}
	return err
}

// listen opens the sockets that acts try to reach, for this machine alone.
func (s *site) listen() error {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.ends = append(s.ends, tcp.Close)
	s.ports[0] = tcp.Addr().(*net.TCPAddr).Port
	go count(tcp, &s.tcp)
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	s.ends = append(s.ends, udp.Close)
	s.ports[1] = udp.LocalAddr().(*net.UDPAddr).Port
	go func() {
		for b := make([]byte, 16); ; s.udp.Add(1) {
			if _, _, err := udp.ReadFromUDP(b); err != nil {
				return
			}
		}
	}()
	unix, err := net.Listen("unix", s.outside("socket"))
	if err != nil {
		return err
	}
	s.ends = append(s.ends, unix.Close)
	go count(unix, &s.unix)
	return nil
}

// count counts the connections of a listener until that is closed.
func count(l net.Listener, n *atomic.Int32) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		n.Add(1)
		c.Close()
	}
}

// run runs the script of an act at a level. The script's variables are OUT, KEY, NAME
// (of the variable with the secret), PID (of the victim), TCP and UDP (ports); $1 is
// the program that it needs.
func (s *site) run(ctx context.Context, a act, program string, level process.Level, limits process.Limits) (process.Result, error) {
	timeout := a.timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	sets := map[string]string{
		"LC_ALL": "C", "OUT": s.out, "KEY": s.key, "NAME": secretName, "PID": strconv.Itoa(s.victim.pid),
		"TCP": strconv.Itoa(s.ports[0]), "UDP": strconv.Itoa(s.ports[1]),
	}
	return process.Run(ctx, process.Command{
		Args: append(process.Shell("echo "+began+"\n"+a.script), "doctor", program), Timeout: timeout, Grace: -1,
		Env:     process.Environment{Workspace: s.workspace, Caches: filepath.Join(s.workspace, "..", "caches"), Set: sets},
		Sandbox: process.Sandbox{Level: level, Limits: limits},
	})
}

// A victim is a process outside of the sandbox, which says when a signal reaches it.
type victim struct {
	pid int

	mu    sync.Mutex
	said  bytes.Buffer
	ready chan struct{} // closed when it has said its pid
}

func (s *site) startVictim(ctx context.Context) (*victim, error) {
	ctx, cancel := context.WithCancel(ctx)
	v := &victim{ready: make(chan struct{})}
	p, err := process.Start(ctx, process.Command{
		Args: process.Shell(`trap 'echo signaled' USR1; echo "$$"; while :; do sleep 0.1; done`), Output: v, Timeout: process.Forever, Grace: -1,
		Env:     process.Environment{Workspace: s.out, Caches: s.outside("caches"), Set: map[string]string{secretName: s.secret}},
		Sandbox: process.Sandbox{Level: process.None},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	s.ends = append(s.ends, func() error {
		cancel()
		p.Wait()
		return nil
	})
	select {
	case <-v.ready:
		return v, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(20 * time.Second):
		return nil, errors.New("the process to try them on does not start")
	}
}

// Write takes the victim's output.
func (v *victim) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.said.Write(p)
	if line, _, whole := strings.Cut(v.said.String(), "\n"); whole && v.pid == 0 {
		if pid, err := strconv.Atoi(line); err == nil {
			v.pid = pid
			v.said.Reset()
			close(v.ready)
		}
	}
	return len(p), nil
}

func (v *victim) signaled() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Contains(v.said.String(), "signaled")
}

func (v *victim) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.said.Reset()
}
