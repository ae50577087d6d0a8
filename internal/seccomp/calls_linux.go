package seccomp

import "golang.org/x/sys/unix"

// A call is a system call with a rule of its own. Its numbers are -1 on an
// architecture that does not have it.
type call struct {
	name         string
	amd64, arm64 int
	rule         *node
}

// calls returns all rules.
func (r Rules) calls() []call {
	all := append(fixed[:len(fixed):len(fixed)],
		call{"socket", 41, 198, r.socket()},
		call{"socketpair", 53, 199, r.socketpair()},
	)
	if !r.SharedMemory {
		all = append(all, systemV...)
	}
	return all
}

// systemV are the calls for what no path leads to, and to queues of messages of POSIX, whose
// paths are in a file system of their own.
var systemV = []call{
	{"shmget", 29, 194, eperm},
	{"shmat", 30, 196, eperm},
	{"shmctl", 31, 195, eperm},
	{"msgget", 68, 186, eperm},
	{"msgsnd", 69, 189, eperm},
	{"msgrcv", 70, 188, eperm},
	{"msgctl", 71, 187, eperm},
	{"semget", 64, 190, eperm},
	{"semop", 65, 193, eperm},
	{"semctl", 66, 191, eperm},
	{"semtimedop", 220, 192, eperm},
	{"mq_open", 240, 180, eperm},
	{"mq_unlink", 241, 181, eperm},
}

// fixed are the rules that are the same for all.
var fixed = []call{
	// Other processes: their memory, descriptors and events. userfaultfd stops the
	// kernel in the middle of a call, which helps to exploit it.
	{"ptrace", 101, 117, eperm},
	{"process_vm_readv", 310, 270, eperm},
	{"process_vm_writev", 311, 271, eperm},
	{"pidfd_getfd", 438, 438, eperm},
	{"kcmp", 312, 272, eperm},
	{"perf_event_open", 298, 241, eperm},
	{"userfaultfd", 323, 282, eperm},
	// The kernel lets a process change the limits of any other of its user.
	{"prlimit64", 302, 261, limits},
	// Calls made by the kernel on a process' behalf, which no filter sees; programs
	// in the kernel; keys, which belong to no namespace; all that happens to a file
	// system; segments of 16 bits.
	{"io_uring_setup", 425, 425, eperm},
	{"io_uring_enter", 426, 426, eperm},
	{"io_uring_register", 427, 427, eperm},
	{"bpf", 321, 280, eperm},
	{"add_key", 248, 217, eperm},
	{"request_key", 249, 218, eperm},
	{"keyctl", 250, 219, eperm},
	{"fanotify_init", 300, 262, eperm},
	{"modify_ldt", 154, -1, eperm},
	{"personality", 135, 92, domains},
	// Mounts and roots, old and new, and files by handle: the way around both.
	{"mount", 165, 40, eperm},
	{"umount2", 166, 39, eperm},
	{"pivot_root", 155, 41, eperm},
	{"chroot", 161, 51, eperm},
	{"move_mount", 429, 429, eperm},
	{"open_tree", 428, 428, eperm},
	{"open_tree_attr", 467, 467, eperm},
	{"fsopen", 430, 430, eperm},
	{"fsconfig", 431, 431, eperm},
	{"fsmount", 432, 432, eperm},
	{"fspick", 433, 433, eperm},
	{"mount_setattr", 442, 442, eperm},
	{"open_by_handle_at", 304, 265, eperm},
	{"name_to_handle_at", 303, 264, eperm},
	{"lookup_dcookie", 212, 18, eperm},
	// Namespaces. In a user namespace of its own a process has all capabilities, and
	// the kernel behind them is as good as untested. clone3 has its flags in memory.
	{"setns", 308, 268, eperm},
	{"clone", 56, 220, namespaces(cloneFlags)},
	{"unshare", 272, 97, namespaces(unshareFlags)},
	{"clone3", 435, 435, enosys},
	// The machine. Most of it needs capabilities that a process in a sandbox has not.
	// Modules' calls that ended with Linux 2.4 are here to be complete.
	{"kexec_load", 246, 104, eperm},
	{"kexec_file_load", 320, 294, eperm},
	{"init_module", 175, 105, eperm},
	{"finit_module", 313, 273, eperm},
	{"delete_module", 176, 106, eperm},
	{"create_module", 174, -1, eperm},
	{"query_module", 178, -1, eperm},
	{"nfsservctl", 180, 42, eperm},
	{"swapon", 167, 224, eperm},
	{"swapoff", 168, 225, eperm},
	{"reboot", 169, 142, eperm},
	{"syslog", 103, 116, eperm},
	{"acct", 163, 89, eperm},
	{"quotactl", 179, 60, eperm},
	{"quotactl_fd", 443, 443, eperm},
	{"iopl", 172, -1, eperm},
	{"ioperm", 173, -1, eperm},
	{"vhangup", 153, 58, eperm},
	{"settimeofday", 164, 170, eperm},
	{"clock_settime", 227, 112, eperm},
	{"adjtimex", 159, 171, eperm},
	{"clock_adjtime", 305, 266, eperm},
	{"sethostname", 170, 161, eperm},
	{"setdomainname", 171, 162, eperm},
	// Terminals, devices, and programs that run as who owns them. mkdir is not here:
	// the kernel drops these bits of a new directory. openat2 has its mode in memory.
	{"ioctl", 16, 29, terminal},
	{"mknod", 133, -1, device(1)},
	{"mknodat", 259, 33, device(2)},
	{"chmod", 90, -1, ownerBits(1, eperm)},
	{"fchmod", 91, 52, ownerBits(1, eperm)},
	{"fchmodat", 268, 53, ownerBits(2, eperm)},
	{"fchmodat2", 452, 452, ownerBits(2, eperm)},
	{"creat", 85, -1, ownerBits(1, eperm)},
	{"open", 2, -1, ownerBits(2, creates(1))},
	{"openat", 257, 56, ownerBits(3, creates(2))},
	{"openat2", 437, 437, enosys},
}

// limits lets prlimit64(pid_t pid, resource, new, old) look at others, and change
// the caller: a new limit for another process can kill it.
var limits = func() *node {
	change := anyBit(low(2), ^uint32(0), eperm, anyBit(high(2), ^uint32(0), eperm, allow))
	return anyBit(low(0), ^uint32(0), change, allow)
}()

// domains lets personality(unsigned int) ask, and set what setarch and debuggers
// do: the name of a 32-bit machine, an old version number, addresses that are not
// random. The other domains are those of long gone systems, and old code.
var domains = func() *node {
	const query = 0xffffffff
	const uname26, linux32, noRandomize = 0x20000, 0x8, 0x40000
	return oneOf(low(0), 0, allow, anyBit(low(0), ^uint32(uname26|linux32|noRandomize), eperm, allow), query)
}()

// The namespace flags of clone(unsigned long flags, ...) and unshare(unsigned long
// flags). clone takes the low half only; unshare refuses what is in the other one.
// What is CLONE_NEWTIME for unshare is part of the signal for clone.
const (
	cloneFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	unshareFlags = cloneFlags | unix.CLONE_NEWTIME
)

func namespaces(flags uint32) *node { return anyBit(low(0), flags, eperm, allow) }

// terminal refuses those of ioctl(fd, unsigned int cmd, ...) that type into a
// terminal, paste into a console, or load a line discipline.
var terminal = oneOf(low(1), 0, eperm, allow, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD)

// device refuses a umode_t that makes a device, or that has owner bits.
func device(mode int) *node {
	return oneOf(low(mode), unix.S_IFMT, eperm, ownerBits(mode, eperm), unix.S_IFCHR, unix.S_IFBLK)
}

// ownerBits goes to yes for a umode_t with which a program runs as the file's owner
// or group. The group's bit of a directory is the same bit, and refused with it.
func ownerBits(mode int, yes *node) *node {
	return anyBit(low(mode), unix.S_ISUID|unix.S_ISGID, yes, allow)
}

// creates refuses the flags of an open that creates a file. Others do not use the
// mode, and pass whatever the register held.
func creates(flags int) *node {
	const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY
	return anyBit(low(flags), unix.O_CREAT|tmpfile, eperm, allow)
}
