package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ptr(p unsafe.Pointer) uintptr { return uintptr(p) }

func str(s string) uintptr {
	p, _ := unix.BytePtrFromString(s)
	pinned = append(pinned, p)
	return uintptr(unsafe.Pointer(p))
}

var pinned []*byte // what the kernel is still to read

func init() {
	// mknod DIR: device files of a disk and of the memory.
	acts["mknod"] = func(args []string) {
		for name, dev := range map[string]uint64{"disk": unix.Mkdev(254, 0), "mem": unix.Mkdev(1, 1), "kmsg": unix.Mkdev(1, 11)} {
			for _, mode := range []uint32{unix.S_IFBLK, unix.S_IFCHR} {
				path := fmt.Sprintf("%s/dev-%s-%o", args[0], name, mode)
				done(fmt.Sprintf("mknod %s %o", name, mode), unix.Mknod(path, mode|0o600, int(dev)))
				os.Remove(path)
			}
		}
	}
	// mount DIR: file systems, and taken away again.
	acts["mount"] = func(args []string) {
		runtime.LockOSThread()
		for _, m := range []struct {
			source, fstype string
			flags          uintptr
		}{{"tmpfs", "tmpfs", 0}, {"proc", "proc", 0}, {"/", "", unix.MS_BIND}, {"sysfs", "sysfs", 0}} {
			err := unix.Mount(m.source, args[0], m.fstype, m.flags, "")
			done("mount "+m.source, err)
			if err == nil {
				unix.Unmount(args[0], unix.MNT_DETACH)
			}
		}
	}
	// remount: what is there, with the rights that the host's / has.
	acts["remount"] = func(paths []string) {
		for _, p := range paths {
			var st unix.Statfs_t
			if unix.Statfs(p, &st) != nil {
				continue
			}
			done("remount "+p, unix.Mount("", p, "", unix.MS_REMOUNT|unix.MS_BIND, ""))
			attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
			done("mount_setattr "+p, unix.MountSetattr(unix.AT_FDCWD, p, 0, &attr))
			done("umount "+p, nonesuch(unix.Unmount(p+"/no-such-mount", unix.MNT_DETACH)))
		}
	}
	acts["newmount"] = func([]string) {
		fd, err := unix.Fsopen("tmpfs", 0)
		done("fsopen", err)
		unix.Close(fd)
		fd, err = unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		done("open_tree", err)
		unix.Close(fd)
		allowed("move_mount", call(unix.SYS_MOVE_MOUNT, ^uintptr(0), str(""), ^uintptr(0), str(""), 0))
		allowed("fspick", call(unix.SYS_FSPICK, ^uintptr(0), str("nowhere"), 0))
	}
	acts["userns"] = func([]string) {
		child("unshare", func() error { return errnoErr(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)) })
		child("unshare user and mount", func() error { return errnoErr(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)) })
		spawn("clone", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER})
		spawn("clone net", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID})
		var args [11]uint64 // of clone3: flags, pidfd, child_tid, parent_tid, exit_signal, ...
		args[0], args[4] = unix.CLONE_NEWUSER, uint64(unix.SIGCHLD)
		runtime.LockOSThread()
		pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE3, ptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if errno == 0 && pid == 0 {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		done("clone3", errnoErr(errno))
	}
	acts["usernsmount"] = func(args []string) {
		attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		p, err := os.StartProcess("/proc/self/exe", []string{"probe", "mount", args[0]}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}, Sys: attr})
		if err != nil {
			fmt.Println("tried user namespace:", err)
			return
		}
		p.Wait()
	}
	acts["setns"] = func([]string) {
		for _, pid := range []string{"1", fmt.Sprint(os.Getppid())} {
			for _, kind := range []string{"mnt", "net", "uts", "ipc", "pid", "cgroup"} {
				child("setns "+pid+" "+kind, func() error {
					fd, err := unix.Open("/proc/"+pid+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
					if err != nil {
						return err
					}
					if kind == "mnt" {
						unix.Unshare(unix.CLONE_FS)
					}
					return unix.Setns(fd, 0)
				})
			}
		}
	}
	acts["chroot"] = func(args []string) {
		child("chroot", func() error { return unix.Chroot("/") })
		allowed("pivot_root", call(unix.SYS_PIVOT_ROOT, str("/no-such"), str("/no-such")))
	}
	acts["handle"] = func(args []string) {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
		if err != nil { // the handle of the root directory, which is the same on any ext4
			fmt.Println("tried name_to_handle_at:", err)
			h = unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0})
		}
		dir, err := unix.Open(".", unix.O_RDONLY, 0)
		fatal(err)
		fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
		if err == unix.ESTALE {
			err = nil // the right was there
		}
		done("open_by_handle_at", err)
		unix.Close(fd)
	}
	// privileged: calls whose rights the kernel looks at before their arguments,
	// which are wrong, or what holds already.
	acts["privileged"] = func([]string) {
		allowed("reboot", call(unix.SYS_REBOOT, 1, 2, 3, 0))
		allowed("kexec_load", call(unix.SYS_KEXEC_LOAD, 0, 1<<20, 0, 0xffff))
		allowed("init_module", call(unix.SYS_INIT_MODULE, 0, 0, str("")))
		allowed("finit_module", call(unix.SYS_FINIT_MODULE, ^uintptr(0), str(""), 0))
		allowed("delete_module", call(unix.SYS_DELETE_MODULE, str("no_such_module_cgesc"), unix.O_NONBLOCK))
		allowed("swapon", call(unix.SYS_SWAPON, str("/no-such-cgesc"), 0))
		allowed("acct", call(unix.SYS_ACCT, str("/no-such-cgesc")))
		allowed("quotactl", call(unix.SYS_QUOTACTL, 0x80000200, str("/no-such-cgesc"), 0, 0))
		var tx unix.Timex
		if _, err := unix.Adjtimex(&tx); err == nil {
			same := unix.Timex{Modes: unix.ADJ_TICK, Tick: tx.Tick}
			_, err = unix.Adjtimex(&same)
			done("adjtimex", err)
		}
		var uts unix.Utsname
		if unix.Uname(&uts) == nil {
			done("sethostname", unix.Sethostname([]byte(unix.ByteSliceToString(uts.Nodename[:]))))
		}
		var lim unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) == nil {
			lim.Max++
			if lim.Max < 1<<20 {
				done("raise a hard limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &lim))
			}
		}
		done("a priority above others", unix.Setpriority(unix.PRIO_PROCESS, 0, -5))
		portCalls()
	}
	acts["kernellog"] = func([]string) {
		buf := make([]byte, 4096)
		_, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, buf)
		done("syslog", err)
	}
	acts["keys"] = func([]string) {
		_, err := unix.AddKey("user", "cgesc", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		done("add_key", err)
		_, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false)
		done("keyctl", err)
		allowed("request_key", call(unix.SYS_REQUEST_KEY, str("user"), str("cgesc-none"), 0, 0))
	}
	acts["iouring"] = func([]string) {
		var params [120]byte
		fd, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, 4, ptr(unsafe.Pointer(&params)), 0)
		done("io_uring_setup", errnoErr(errno))
		if errno == 0 {
			unix.Close(int(fd))
		}
	}
	acts["bpf"] = func([]string) {
		// BPF_MAP_CREATE of an array: type 2, key 4, value 4, one entry.
		attr := struct{ kind, key, value, entries, flags uint32 }{2, 4, 4, 1, 0}
		fd, _, errno := syscall.Syscall(unix.SYS_BPF, 0, ptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		done("bpf", errnoErr(errno))
		if errno == 0 {
			unix.Close(int(fd))
		}
	}
	acts["perf"] = func([]string) {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitDisabled}
		fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		done("perf_event_open", err)
		unix.Close(fd)
	}
	acts["uffd"] = func([]string) {
		fd, _, errno := syscall.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0) // UFFD_USER_MODE_ONLY
		done("userfaultfd", errnoErr(errno))
		if errno == 0 {
			unix.Close(int(fd))
		}
	}
	acts["fanotify"] = func([]string) {
		fd, _, errno := syscall.Syscall(unix.SYS_FANOTIFY_INIT, unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY, 0)
		done("fanotify_init", errnoErr(errno))
		if errno == 0 {
			unix.Close(int(fd))
		}
	}
	acts["personality"] = func([]string) {
		runtime.LockOSThread()
		done("READ_IMPLIES_EXEC", errnoErr(call(unix.SYS_PERSONALITY, 0x400000)))
		done("MMAP_PAGE_ZERO", errnoErr(call(unix.SYS_PERSONALITY, 0x100000)))
	}
	acts["int80"] = func([]string) {
		fmt.Println("tried int 0x80")
		if got := int80(20); int(got) == os.Getpid() { // getpid of the 32-bit table
			fmt.Println("DID int 0x80")
		}
	}
	acts["x32"] = func([]string) {
		fmt.Println("tried x32")
		if pid, _, errno := syscall.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0); errno == 0 && int(pid) == os.Getpid() {
			fmt.Println("DID x32")
		}
	}
}

func errnoErr(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// nonesuch takes an error that says that something is not there for a success: the
// right was there.
func nonesuch(err error) error {
	if err == unix.ENOENT || err == unix.EINVAL {
		return nil
	}
	return err
}

// child tries on a thread of its own, which ends with it.
func child(what string, try func() error) {
	err := make(chan error)
	go func() {
		runtime.LockOSThread()
		unix.Unshare(unix.CLONE_FS) // allowed to everybody
		err <- try()
	}()
	done(what, <-err)
}

func spawn(what string, attr *syscall.SysProcAttr) {
	p, err := os.StartProcess("/proc/self/exe", []string{"probe", "openr"}, &os.ProcAttr{Sys: attr})
	done(what, err)
	if err == nil {
		p.Wait()
	}
}
