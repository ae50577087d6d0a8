package seccomp

import (
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
