package warden

import (
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// devices are what a process finds in /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// maskedProc are files of /proc that tell of the machine, or act on it.
var maskedProc = []string{"kcore", "kmsg", "keys", "key-users", "timer_list", "sysrq-trigger", "kallsyms", "kpagecount", "kpageflags", "kpagecgroup"}

// dev makes a /dev with the harmless devices alone.
func (v *view) dev(devs []int) {
	to := v.target("/dev", true)
	tree := v.emptyDevices()
	v.move(tree, to, "/dev")
	unix.Close(to)
	for i, d := range devices {
		to := v.target("/dev/"+d, false)
		v.attributes(devs[i], unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, 0)
		v.move(devs[i], to, "/dev/"+d)
		unix.Close(to)
	}
	to = v.target("/dev/shm", true)
	shm := v.empty("1777")
	v.move(shm, to, "/dev/shm")
	unix.Close(shm)
	unix.Close(to)
	to = v.target("/dev/pts", true)
	v.do("devpts", func() error {
		pts, err := newMount("devpts", map[string]string{"ptmxmode": "0666", "mode": "0620"}, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(pts)
		v.move(pts, to, "/dev/pts")
		return nil
	})
	unix.Close(to)
	v.do("links in /dev", func() error {
		dev, err := open(v.root, "/dev", unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(dev)
		for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
			if err := unix.Symlinkat(to, dev, name); err != nil {
				return err
			}
		}
		return nil
	})
	if v.err == nil {
		v.attributes(tree, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, 0)
		unix.Close(tree)
	}
}

func (v *view) emptyDevices() (fd int) {
	fd = -1
	v.do("tmpfs", func() (err error) {
		fd, err = newMount("tmpfs", map[string]string{"mode": "755", "size": "64k"}, unix.MOUNT_ATTR_NOSUID)
		return err
	})
	return fd
}

// resolver has names looked up by our own server, in this network namespace.
func (v *view) resolver(name string) {
	to := v.target(name, false)
	v.do("resolv.conf", func() error {
		tree := v.empty("755")
		if v.err != nil {
			return v.err
		}
		defer unix.Close(tree)
		f, err := unix.Openat(tree, "resolv.conf", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
		if err != nil {
			return err
		}
		unix.Write(f, []byte("nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"))
		unix.Close(f)
		// A file can be a mount only of a file system that is itself mounted.
		at := v.target("/dev", true)
		defer unix.Close(at)
		v.move(tree, at, "resolv.conf")
		file, err := open(tree, "resolv.conf", unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(file)
		one, err := openTree(file)
		if err != nil {
			return err
		}
		defer unix.Close(one)
		v.attributes(one, mountView, 0)
		v.move(one, to, name)
		return unix.Unmount("/proc/self/fd/"+strconv.Itoa(tree), unix.MNT_DETACH)
	})
	unix.Close(to)
}

// proc mounts a /proc of this namespace of pids, and forbids namespaces of users below
// ours by the kernel's own count of them.
func (v *view) proc(null int) {
	to := v.target("/proc", true)
	v.do("proc", func() error {
		tree, err := newMount("proc", nil, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		v.move(tree, to, "/proc")
		if v.err != nil {
			return v.err
		}
		if f, err := unix.Openat(tree, "sys/user/max_user_namespaces", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			unix.Write(f, []byte("0"))
			unix.Close(f)
		}
		for _, name := range maskedProc {
			fd, err := open(tree, name, unix.O_PATH)
			if err != nil {
				continue
			}
			mask := v.clone(null)
			v.move(mask, fd, "/proc/"+name)
			unix.Close(mask)
			unix.Close(fd)
		}
		// root outside is root for /proc/sys, whatever namespace it is in and without any
		// capability: core_pattern would be a way out.
		v.attributes(tree, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, 0)
		return nil
	})
	unix.Close(to)
}

// loopback brings up the loopback of a new network namespace.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return &stageError{"loopback", err}
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return &stageError{"loopback", err}
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return &stageError{"loopback", err}
	}
	// getaddrinfo with AI_ADDRCONFIG takes a machine whose only address is 127.0.0.1 for
	// one without IPv4.
	if alias, err := unix.NewIfreq("lo:1"); err == nil && alias.SetInet4Addr([]byte{127, 1, 255, 254}) == nil {
		unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias)
	}
	runtime.KeepAlive(ifr)
	return nil
}
