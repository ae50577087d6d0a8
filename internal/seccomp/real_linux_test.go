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
	"unsafe"

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

// call6 makes a system call. The tests mean the bits of the arguments, whatever the
// Go types of the constants are.
func call6(nr uintptr, args ...uintptr) unix.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, e := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return e
}

const top = 1 << 32 // a bit that the kernel drops from most arguments

// acts does what the filters judge, and returns the errors of the kernel by name.
// No act harms the machine when it is allowed: arguments are wrong in a way that
// the kernel tells by another error, or the act is small.
func acts(dir string) map[string]unix.Errno {
	got := make(map[string]unix.Errno)
	// What is refused always, with arguments that are all wrong.
	a, err := Native()
	if err != nil {
		panic(err)
	}
	for _, c := range fixed {
		// A hang-up has no arguments to be wrong.
		if nr := a.number(c); nr >= 0 && c.rule == eperm && (c.name != "vhangup" || os.Getenv(filterEnv) != "none") {
			got["always: "+c.name] = call6(uintptr(nr), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0))
		}
	}
	got["ptrace with a bit above the number"] = call6(top|unix.SYS_PTRACE, ^uintptr(0), ^uintptr(0))

	path := func(s string) uintptr {
		b, err := unix.BytePtrFromString(filepath.Join(dir, s))
		if err != nil {
			panic(err)
		}
		keep = append(keep, b)
		return uintptr(unsafe.Pointer(b))
	}
	cwd := ^uintptr(99) // AT_FDCWD, -100
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		panic(err)
	}
	how := &unix.OpenHow{Flags: unix.O_RDONLY}
	got["openat2"] = call6(unix.SYS_OPENAT2, cwd, path("file"), uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how))
	got["fchmodat setuid"] = call6(unix.SYS_FCHMODAT, cwd, path("file"), unix.S_ISUID|0o755)
	got["fchmodat setgid, high bit"] = call6(unix.SYS_FCHMODAT, cwd, path("file"), top|unix.S_ISGID|0o755)
	got["fchmodat2 setuid"] = call6(unix.SYS_FCHMODAT2, cwd, path("file"), unix.S_ISUID|0o755)
	got["fchmodat"] = call6(unix.SYS_FCHMODAT, cwd, path("file"), 0o755)
	got["openat a new setuid file"] = call6(unix.SYS_OPENAT, cwd, path("new1"), unix.O_WRONLY|unix.O_CREAT, unix.S_ISUID|0o755)
	got["openat a new setuid file, high bits"] = call6(unix.SYS_OPENAT, cwd, path("new2"), top|unix.O_WRONLY|unix.O_CREAT, top|unix.S_ISUID|0o755)
	got["openat a nameless setuid file"] = call6(unix.SYS_OPENAT, cwd, path("."), unix.O_WRONLY|unix.O_TMPFILE, unix.S_ISUID|0o755)
	got["openat a new file"] = call6(unix.SYS_OPENAT, cwd, path("new3"), unix.O_WRONLY|unix.O_CREAT, 0o755)
	got["openat with a mode that nobody reads"] = call6(unix.SYS_OPENAT, cwd, path("file"), unix.O_RDONLY, unix.S_ISUID|0o755)
	got["mkdirat setuid"] = call6(unix.SYS_MKDIRAT, cwd, path("dir"), unix.S_ISUID|unix.S_ISGID|0o755)
	got["mknodat a FIFO"] = call6(unix.SYS_MKNODAT, cwd, path("fifo"), unix.S_IFIFO|0o644)
	got["mknodat a device"] = call6(unix.SYS_MKNODAT, cwd, path("null1"), unix.S_IFCHR|0o644, 0x103)
	got["mknodat a device, high bits"] = call6(unix.SYS_MKNODAT, cwd, path("null2"), top|0x10000|unix.S_IFCHR|0o644, 0x103)

	// With CLONE_FS and of a process with threads the kernel refuses what the filter
	// lets through.
	got["clone3"] = call6(unix.SYS_CLONE3)
	got["clone of a user namespace"] = call6(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS)
	got["clone of a user namespace, high bit"] = call6(unix.SYS_CLONE, top|unix.CLONE_NEWUSER|unix.CLONE_FS)
	got["unshare of a user namespace"] = call6(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	got["unshare of a user namespace, high bit"] = call6(unix.SYS_UNSHARE, top|unix.CLONE_NEWUSER)
	got["unshare of the working directory"] = call6(unix.SYS_UNSHARE, unix.CLONE_FS)

	null, err := unix.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	got["ioctl TIOCSTI"] = call6(unix.SYS_IOCTL, uintptr(null), unix.TIOCSTI)
	got["ioctl TIOCSTI, high bit"] = call6(unix.SYS_IOCTL, uintptr(null), top|unix.TIOCSTI)
	got["ioctl TIOCLINUX"] = call6(unix.SYS_IOCTL, uintptr(null), unix.TIOCLINUX)
	got["ioctl TIOCSETD"] = call6(unix.SYS_IOCTL, uintptr(null), unix.TIOCSETD)
	got["ioctl TCGETS"] = call6(unix.SYS_IOCTL, uintptr(null), unix.TCGETS)
	got["personality query"] = call6(unix.SYS_PERSONALITY, 0xffffffff)
	got["personality READ_IMPLIES_EXEC"] = call6(unix.SYS_PERSONALITY, 0x0400000)
	got["personality READ_IMPLIES_EXEC, high bit"] = call6(unix.SYS_PERSONALITY, top|0x0400000)
	got["personality ADDR_NO_RANDOMIZE"] = call6(unix.SYS_PERSONALITY, 0x0040000)

	var lim unix.Rlimit
	parent := uintptr(os.Getppid())
	got["prlimit64 looks at the parent"] = call6(unix.SYS_PRLIMIT64, parent, unix.RLIMIT_CORE, 0, uintptr(unsafe.Pointer(&lim)))
	got["prlimit64 of the parent"] = call6(unix.SYS_PRLIMIT64, parent, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&lim)))
	got["prlimit64 of the parent, high bit"] = call6(unix.SYS_PRLIMIT64, top|parent, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&lim)))
	got["prlimit64 of itself"] = call6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&lim)))

	socket := func(family, kind, proto uintptr) unix.Errno {
		fd, _, e := unix.RawSyscall(unix.SYS_SOCKET, family, kind, proto)
		if e == 0 {
			unix.Close(int(fd))
		}
		return e
	}
	got["socket unix"] = socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	got["socket unix, high bit"] = socket(top|unix.AF_UNIX, unix.SOCK_STREAM, 0)
	got["socket tcp"] = socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	got["socket udp"] = socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP)
	got["socket mptcp"] = socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	got["socket mptcp, high bit"] = socket(unix.AF_INET, unix.SOCK_STREAM, top|unix.IPPROTO_MPTCP)
	got["socket raw"] = socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)
	got["socket netlink route"] = socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	got["socket netlink generic"] = socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC)
	got["socket alg"] = socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
	got["socket vsock"] = socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	pair := func(kind uintptr) unix.Errno {
		var fds [2]int32
		return call6(unix.SYS_SOCKETPAIR, unix.AF_UNIX, kind, 0, uintptr(unsafe.Pointer(&fds)))
	}
	got["socketpair stream"] = pair(unix.SOCK_STREAM)
	got["socketpair seqpacket"] = pair(unix.SOCK_SEQPACKET)
	got["socketpair datagram"] = pair(unix.SOCK_DGRAM)

	// A filter of its own, that allows all and notifies nobody, changes nothing.
	if os.Getenv(filterEnv) != "none" {
		got["a second filter"] = 0
		if err := Load([]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}); err != nil {
			got["a second filter"] = unix.EIO
		}
		got["ptrace under a second filter"] = call6(unix.SYS_PTRACE, ^uintptr(0), ^uintptr(0))
	}
	return got
}

// keep holds what system calls point at.
var keep []*byte

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

// outcomes are the acts that the filter is to change, or not to change: without a
// filter, isolated, confined, confined with the network. The first may differ on
// kernels that lack what is asked for, and for users without rights.
var outcomes = map[string][4]unix.Errno{
	"openat2":                              {0, unix.ENOSYS, unix.ENOSYS, unix.ENOSYS},
	"fchmodat":                             {0, 0, 0, 0},
	"fchmodat setuid":                      {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"fchmodat setgid, high bit":            {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"fchmodat2 setuid":                     {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"openat a new setuid file":             {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"openat a new setuid file, high bits":  {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"openat a nameless setuid file":        {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"openat a new file":                    {0, 0, 0, 0},
	"openat with a mode that nobody reads": {0, 0, 0, 0},
	"mkdirat setuid":                       {0, 0, 0, 0},
	"mknodat a FIFO":                       {0, 0, 0, 0},
	"mknodat a device":                     {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"mknodat a device, high bits":          {0, unix.EPERM, unix.EPERM, unix.EPERM},

	"ptrace with a bit above the number":    {unix.ESRCH, unix.EPERM, unix.EPERM, unix.EPERM},
	"clone3":                                {unix.EINVAL, unix.ENOSYS, unix.ENOSYS, unix.ENOSYS},
	"clone of a user namespace":             {unix.EINVAL, unix.EPERM, unix.EPERM, unix.EPERM},
	"clone of a user namespace, high bit":   {unix.EINVAL, unix.EPERM, unix.EPERM, unix.EPERM},
	"unshare of a user namespace":           {unix.EINVAL, unix.EPERM, unix.EPERM, unix.EPERM},
	"unshare of a user namespace, high bit": {unix.EINVAL, unix.EPERM, unix.EPERM, unix.EPERM},
	"unshare of the working directory":      {0, 0, 0, 0},

	"ioctl TIOCSTI":                               {unix.ENOTTY, unix.EPERM, unix.EPERM, unix.EPERM},
	"ioctl TIOCSTI, high bit":                     {unix.ENOTTY, unix.EPERM, unix.EPERM, unix.EPERM},
	"ioctl TIOCLINUX":                             {unix.ENOTTY, unix.EPERM, unix.EPERM, unix.EPERM},
	"ioctl TIOCSETD":                              {unix.ENOTTY, unix.EPERM, unix.EPERM, unix.EPERM},
	"ioctl TCGETS":                                {unix.ENOTTY, unix.ENOTTY, unix.ENOTTY, unix.ENOTTY},
	"personality query":                           {0, 0, 0, 0},
	"personality READ_IMPLIES_EXEC":               {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"personality READ_IMPLIES_EXEC, high bit":     {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"personality ADDR_NO_RANDOMIZE":               {0, 0, 0, 0},
	"other thread: personality READ_IMPLIES_EXEC": {0, 0, 0, 0},

	"prlimit64 looks at the parent":     {0, 0, 0, 0},
	"prlimit64 of the parent":           {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"prlimit64 of the parent, high bit": {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"prlimit64 of itself":               {0, 0, 0, 0},

	"socket unix":            {0, 0, unix.EPERM, unix.EAFNOSUPPORT},
	"socket unix, high bit":  {0, 0, unix.EPERM, unix.EAFNOSUPPORT},
	"socket tcp":             {0, 0, unix.EPERM, 0},
	"socket udp":             {0, 0, unix.EPERM, 0},
	"socket mptcp":           {0, unix.EPROTONOSUPPORT, unix.EPERM, unix.EPROTONOSUPPORT},
	"socket mptcp, high bit": {0, unix.EPROTONOSUPPORT, unix.EPERM, unix.EPROTONOSUPPORT},
	"socket raw":             {0, unix.EPERM, unix.EPERM, unix.EPERM},
	"socket netlink route":   {0, 0, unix.EPERM, 0},
	"socket netlink generic": {0, unix.EPROTONOSUPPORT, unix.EPERM, unix.EPROTONOSUPPORT},
	"socket alg":             {0, unix.EAFNOSUPPORT, unix.EPERM, unix.EAFNOSUPPORT},
	"socket vsock":           {0, unix.EAFNOSUPPORT, unix.EPERM, unix.EAFNOSUPPORT},
	"socketpair stream":      {0, 0, 0, 0},
	"socketpair seqpacket":   {0, 0, 0, 0},
	"socketpair datagram":    {0, 0, unix.EPERM, unix.EPERM},
}

// mayLack are the acts that need root, or a kernel that has it: without a filter
// they may fail as they do with it, and then prove nothing.
var mayLack = []string{"mknodat a device", "mknodat a device, high bits", "socket mptcp", "socket mptcp, high bit",
	"socket raw", "socket alg", "socket vsock", "fchmodat2 setuid", "openat a nameless setuid file"}

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
