package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	acts["procfs"] = procfs
	acts["ptrace"] = ptrace
	acts["takefd"] = takefd
	acts["signals"] = signals
	acts["schedule"] = schedule
	acts["fds"] = fds
	acts["tiocsti"] = tiocsti
	acts["forks"] = forks
	acts["memory"] = memory
	acts["suid"] = func([]string) {
		fmt.Println("tried setuid", os.Getuid(), os.Geteuid())
		if os.Geteuid() == 0 && os.Getuid() != 0 {
			fmt.Println("DID setuid")
		}
	}
}

func pids(args []string) (out []int) {
	for _, a := range args {
		n, err := strconv.Atoi(a)
		fatal(err)
		out = append(out, n)
	}
	return out
}

// procfs PID...: what /proc has of a process that is not ours.
func procfs(args []string) {
	for _, pid := range args {
		for _, name := range []string{"environ", "mem", "maps", "smaps", "stack", "syscall", "auxv", "io"} {
			f, err := os.Open("/proc/" + pid + "/" + name)
			if err == nil && name != "mem" {
				_, err = f.Read(make([]byte, 16))
			}
			if name == "stack" && err == nil { // what it shows says nothing
				err = syscall.EPERM
			}
			done(pid+" "+name, err)
			f.Close()
		}
		for _, name := range []string{"root/", "cwd/", "fd/", "map_files/", "fdinfo/"} {
			entries, err := os.ReadDir("/proc/" + pid + "/" + name)
			if err == nil && len(entries) == 0 { // the kernel shows an empty one
				err = syscall.EACCES
			} else if err == nil && name == "fd/" { // the numbers are no secret
				_, err = os.Readlink("/proc/" + pid + "/fd/" + entries[0].Name())
			}
			done(pid+" "+name, err)
		}
		for _, name := range []string{"exe", "root", "cwd"} {
			_, err := os.Readlink("/proc/" + pid + "/" + name)
			done(pid+" link "+name, err)
		}
		done(pid+" oom_score_adj", write("/proc/"+pid+"/oom_score_adj", "500"))
		done(pid+" comm", write("/proc/"+pid+"/comm", "probe"))
	}
}

func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func ptrace(args []string) {
	for _, pid := range pids(args) {
		errno := call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0)
		done(fmt.Sprint("seize ", pid), errnoErr(errno))
		if errno == 0 {
			call(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, 0)
		}
		buf := make([]byte, 8)
		local := []unix.Iovec{{Base: &buf[0], Len: 8}}
		// No address is mapped there: who may read gets EFAULT.
		_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 8, Len: 8}}, 0)
		if err == unix.EFAULT {
			err = nil
		}
		done(fmt.Sprint("read ", pid), err)
		_, err = unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: 8, Len: 8}}, 0)
		if err == unix.EFAULT {
			err = nil
		}
		done(fmt.Sprint("write ", pid), err)
		errno = call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 0, 1, 1) // KCMP_FILE
		done(fmt.Sprint("kcmp ", pid), errnoErr(errno))
	}
}

func takefd(args []string) {
	p := pids(args)
	pidfd, err := unix.PidfdOpen(p[0], 0)
	if err == nil {
		_, err = unix.PidfdGetfd(pidfd, p[1], 0)
	}
	done("pidfd_getfd", err)
	_, err = os.Open(fmt.Sprintf("/proc/%d/fd/%d", p[0], p[1]))
	done("open by /proc", err)
}

// signals PID: every way to send one but kill.
func signals(args []string) {
	pid := pids(args)[0]
	done("tgkill", unix.Tgkill(pid, pid, unix.SIGUSR1))
	done("tkill", errnoErr(call(unix.SYS_TKILL, uintptr(pid), uintptr(unix.SIGUSR1))))
	info := make([]byte, 128)
	*(*int32)(unsafe.Pointer(&info[0])) = int32(unix.SIGUSR1)
	*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
	done("rt_sigqueueinfo", errnoErr(call(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGUSR1), ptr(unsafe.Pointer(&info[0])))))
	done("rt_tgsigqueueinfo", errnoErr(call(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(pid), uintptr(pid), uintptr(unix.SIGUSR1), ptr(unsafe.Pointer(&info[0])))))
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		err = unix.PidfdSendSignal(pidfd, unix.SIGUSR1, nil, 0)
	}
	done("pidfd_send_signal", err)
	// What arrives on a pipe is to signal the other one. There is no error to see:
	// the canary tells.
	pipe := make([]int, 2)
	fatal(unix.Pipe2(pipe, unix.O_NONBLOCK))
	if _, err = unix.FcntlInt(uintptr(pipe[0]), unix.F_SETOWN, pid); err == nil {
		unix.FcntlInt(uintptr(pipe[0]), unix.F_SETSIG, int(unix.SIGUSR2))
		unix.FcntlInt(uintptr(pipe[0]), unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
		unix.Write(pipe[1], []byte("x"))
	}
	fmt.Println("tried F_SETOWN", err)
}

func schedule(args []string) {
	pid := pids(args)[0]
	done("setpriority", unix.Setpriority(unix.PRIO_PROCESS, pid, 19))
	var set unix.CPUSet
	set.Set(0)
	done("sched_setaffinity", unix.SchedSetaffinity(pid, &set))
	done("ioprio_set", errnoErr(call(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 3<<13)))
	lim := unix.Rlimit{}
	done("prlimit", unix.Prlimit(pid, unix.RLIMIT_CORE, &lim, nil))
}

// fds says which descriptors beyond the streams are open here, without opening any.
func fds([]string) {
	fmt.Println("tried descriptors")
	for fd := 3; fd < 1024; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 { // the runtime's own
			continue
		}
		fmt.Println("DID descriptor", fd)
		if f, err := unix.Openat(fd, "secret", unix.O_RDONLY, 0); err == nil {
			fmt.Println("DID openat below it")
			unix.Close(f)
		}
	}
}

func tiocsti(args []string) {
	fd, err := unix.Open(args[0], unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		done("open the terminal", err)
		return
	}
	c := byte('x')
	done("TIOCSTI", errnoErr(call(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, ptr(unsafe.Pointer(&c)))))
	sub := [12]byte{3} // TIOCL_GETSHIFTSTATE's neighbours paste
	done("TIOCLINUX", errnoErr(call(unix.SYS_IOCTL, uintptr(fd), unix.TIOCLINUX, ptr(unsafe.Pointer(&sub)))))
}

// forks N starts N processes that wait, and says how many there were.
func forks(args []string) {
	n := pids(args)[0]
	var started []*os.Process
	for range n {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "30"}, &os.ProcAttr{})
		if err != nil {
			fmt.Println("tried", err)
			break
		}
		started = append(started, p)
	}
	if len(started) == n {
		fmt.Println("DID", n, "processes")
	}
	for _, p := range started {
		p.Kill()
		p.Wait()
	}
}

// memory BYTES takes so much, page by page.
func memory(args []string) {
	n, err := strconv.ParseInt(args[0], 10, 64)
	fatal(err)
	fmt.Println("tried memory")
	var all [][]byte
	for got := int64(0); got < n; got += 1 << 20 {
		b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			fmt.Println("tried", got, err)
			return
		}
		for i := 0; i < len(b); i += os.Getpagesize() {
			b[i] = 1
		}
		all = append(all, b)
	}
	fmt.Println("DID memory", len(all))
	time.Sleep(10 * time.Millisecond)
}
