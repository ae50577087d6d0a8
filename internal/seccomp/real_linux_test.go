package seccomp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Children of the tests are this program again. What they are to do is in the
// environment: under which filter, and what.
const (
	filterEnv = "CALLGATE_SECCOMP_FILTER" // none, or a name of levels
	doEnv     = "CALLGATE_SECCOMP_DO"     // acts, inherit, or a name of deadly
	dirEnv    = "CALLGATE_SECCOMP_DIR"
)

func TestMain(m *testing.M) {
	if os.Getenv(filterEnv) == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child() error {
	ready, other := make(chan bool), make(chan unix.Errno)
	go func() { // on a thread that stays without the filter
		runtime.LockOSThread()
		ready <- true
		<-ready
		other <- call6(unix.SYS_PERSONALITY, 0x0400000)
	}()
	<-ready
	if name := os.Getenv(filterEnv); name != "none" {
		i := slices.IndexFunc(levels, func(l level) bool { return l.name == name })
		a, err := Native()
		if err != nil {
			return err
		}
		f, err := levels[i].rules.Filter(a)
		if err != nil {
			return err
		}
		if err := Load(f); !errors.Is(err, unix.EACCES) {
			return fmt.Errorf("loaded without no_new_privs: %v", err)
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		if err := Load(f); err != nil {
			return err
		}
	}
	switch do := os.Getenv(doEnv); do {
	case "acts":
		got := acts(os.Getenv(dirEnv))
		ready <- true
		got["other thread: personality READ_IMPLIES_EXEC"] = <-other
		return json.NewEncoder(os.Stdout).Encode(got)
	case "inherit": // a program started by the thread that has the filter
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), filterEnv+"=none", doEnv+"=acts")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	default:
		fmt.Println(deadly[do]())
		return nil
	}
}

func run(t *testing.T, filter, do string) ([]byte, *os.ProcessState) {
	t.Helper()
	if _, err := Native(); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), filterEnv+"="+filter, doEnv+"="+do, dirEnv+"="+t.TempDir())
	cmd.Dir = t.TempDir()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if err != nil && do != "int80" && do != "x32" {
		t.Fatalf("child: %v\n%s%s", err, out.Bytes(), stderr.Bytes())
	}
	return out.Bytes(), cmd.ProcessState
}

func runActs(t *testing.T, filter, do string) map[string]unix.Errno {
	t.Helper()
	out, _ := run(t, filter, do)
	var got map[string]unix.Errno
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return got
}

// TestReal does what the filters judge, without and with each of them.
func TestReal(t *testing.T) {
	bare := runActs(t, "none", "acts")
	for name, want := range outcomes {
		if got := bare[name]; got != want[0] && !slices.Contains(mayLack, name) {
			t.Errorf("without a filter, %s: %v, want %v", name, got, want[0])
		}
	}
	for i, l := range levels {
		got := runActs(t, l.name, "acts")
		for name, want := range outcomes {
			if e, ok := got[name]; !ok || e != want[i+1] {
				t.Errorf("%s: %s: %v (done: %v), want %v", l.name, name, e, ok, want[i+1])
			}
		}
		proven := 0
		for _, c := range fixed {
			name := "always: " + c.name
			e, ok := got[name]
			if !ok {
				continue
			}
			if e != unix.EPERM {
				t.Errorf("%s: %s: %v, want %v", l.name, name, e, unix.EPERM)
			}
			if _, ok := bare[name]; ok && bare[name] != unix.EPERM {
				proven++
			} else {
				t.Logf("%s proves nothing here: %v without a filter, too", name, bare[name])
			}
		}
		if proven < 20 {
			t.Errorf("%s: only %d calls are refused by the filter alone", l.name, proven)
		}
		if got["ptrace under a second filter"] != unix.EPERM || got["a second filter"] != 0 {
			t.Errorf("%s: a second filter: %v, and ptrace under it: %v", l.name, got["a second filter"], got["ptrace under a second filter"])
		}
		// A program that is started is under the filter with all its threads.
		started := runActs(t, l.name, "inherit")
		delete(got, "a second filter")
		delete(got, "ptrace under a second filter")
		got["other thread: personality READ_IMPLIES_EXEC"] = unix.EPERM
		delete(got, "always: vhangup") // not tried by who believes to have no filter
		if !maps.Equal(got, started) {
			t.Errorf("%s: a program started under the filter:\n%v\nand the thread that loaded it:\n%v", l.name, started, got)
		}
	}
}

// TestDirectoriesLoseOwnerBits is why mkdir has no rule.
func TestDirectoriesLoseOwnerBits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := unix.Mkdir(dir, unix.S_ISUID|unix.S_ISGID|0o755); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Mode&unix.S_ISUID != 0 {
		t.Errorf("a directory made with the setuid bit has the mode %o", st.Mode)
	}
}

func TestDeadly(t *testing.T) {
	for do := range deadly {
		if out, state := run(t, "none", do); !state.Success() {
			t.Logf("%s: this kernel has no such calls: %v %s", do, state, out)
			continue
		}
		for _, l := range levels {
			out, state := run(t, l.name, do)
			ws := state.Sys().(syscall.WaitStatus)
			if !ws.Signaled() || ws.Signal() != unix.SIGSYS {
				t.Errorf("%s, %s: %v %s", l.name, do, state, out)
			}
		}
	}
}

// TestDatagramPairs is why datagram pairs need the grant of Unix sockets: an end of
// one reaches a socket of the machine by its path. Ends of the other kinds do not.
func TestDatagramPairs(t *testing.T) {
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM} {
		name := filepath.Join(t.TempDir(), "s")
		l, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(l)
		if err := unix.Bind(l, &unix.SockaddrUnix{Name: name}); err != nil {
			t.Fatal(err)
		}
		if kind != unix.SOCK_DGRAM {
			if err := unix.Listen(l, 1); err != nil {
				t.Fatal(err)
			}
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fds[0])
		unix.Close(fds[1])
		connected := unix.Connect(fds[0], &unix.SockaddrUnix{Name: name}) == nil
		listens := unix.Listen(fds[0], 1) == nil
		if want := kind == unix.SOCK_DGRAM; connected != want || listens {
			t.Errorf("an end of a pair of kind "+strconv.Itoa(kind)+": connected %v, listens %v", connected, listens)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, n := range []int{0, unix.BPF_MAXINSNS + 1, 1 << 16} {
		if err := Load(make([]unix.SockFilter, n)); !errors.Is(err, unix.EINVAL) {
			t.Errorf("a filter of %d instructions: %v", n, err)
		}
	}
}

// BenchmarkCall is a call that the kernel allows by itself, one that the filter has
// to look at, and the same ones without a filter.
func BenchmarkCall(b *testing.B) {
	acts := []struct {
		name string
		call func()
	}{
		{"getppid", func() { unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) }},
		{"ioctl", func() { unix.RawSyscall(unix.SYS_IOCTL, ^uintptr(0), unix.TCGETS, 0) }},
		{"openat", func() { unix.RawSyscall6(unix.SYS_OPENAT, 0, 0, unix.O_RDONLY, 0, 0, 0) }},
	}
	a, err := Native()
	if err != nil {
		b.Skip(err)
	}
	f, err := Isolated().Filter(a)
	if err != nil {
		b.Fatal(err)
	}
	for _, filtered := range []bool{false, true} {
		for _, act := range acts {
			b.Run(fmt.Sprintf("%s/filter=%v", act.name, filtered), func(b *testing.B) {
				done := make(chan error)
				go func() { // its thread ends with it
					runtime.LockOSThread()
					if filtered {
						if err := errors.Join(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), Load(f)); err != nil {
							done <- err
							return
						}
					}
					for b.Loop() {
						act.call()
					}
					done <- nil
				}()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
