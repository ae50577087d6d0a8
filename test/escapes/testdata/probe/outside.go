package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func init() {
	acts["left"] = left
	acts["janitor"] = janitor
	acts["canary"] = canary
	acts["serve"] = serve
}

// left [-kill] TAG prints the processes that have TAG in their arguments or
// environment, but for itself. With -kill it kills them until there are none.
func left(args []string) {
	kill := args[0] == "-kill"
	tag := []byte(args[len(args)-1])
	for deadline := time.Now().Add(10 * time.Second); ; {
		pids := tagged(tag)
		if !kill {
			for _, pid := range pids {
				fmt.Println(pid)
			}
			return
		}
		if len(pids) == 0 || time.Now().After(deadline) {
			return
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// janitor TAG DIR... waits until its standard input is closed, which the end of the
// runner does, and cleans up behind a runner that could not: processes first, for they
// make files.
func janitor(args []string) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	io.Copy(io.Discard, os.Stdin)
	left([]string{"-kill", args[0]})
	for _, dir := range args[1:] {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil && d != nil && d.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
		for range 20 { // what was killed may still be cleaning up itself
			if os.RemoveAll(dir) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for _, pattern := range []string{"/run/cgesc-%s-*.sock", "/sys/fs/cgroup/cgesc-8%s*", "/sys/fs/cgroup/*/cgesc-8%s*"} {
		names, _ := filepath.Glob(fmt.Sprintf(pattern, args[0]))
		for _, name := range names {
			os.Remove(name)
		}
	}
}

func tagged(tag []byte) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if !bytes.Contains(args, tag) && !bytes.Contains(env, tag) {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) == 0 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// canary FILE waits to be harmed. A signal that it can catch makes FILE. Its
// environment, memory and descriptor 8 hold what nobody else is to have.
func canary(args []string) {
	got := make(chan os.Signal, 8)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGIO, syscall.SIGTERM, syscall.SIGURG)
	signal.Reset(syscall.SIGURG) // of the runtime's own
	os.WriteFile(args[0]+".ready", nil, 0o600)
	for {
		select {
		case s := <-got:
			os.WriteFile(args[0], []byte(s.String()), 0o600)
		case <-time.After(2 * time.Minute):
			return
		}
	}
}

// serve DIR SOCKET offers what a host has: TCP, UDP and unix sockets. What reaches one
// is written to DIR/hits, and DIR/ports tells where they are.
func serve(args []string) {
	dir, named := args[0], args[1]
	var mu sync.Mutex
	hit := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(filepath.Join(dir, "hits"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		fatal(err)
		fmt.Fprintln(f, "hit", what)
		f.Close()
	}
	var lines []string
	stream := func(name, network, addr string) {
		l, err := listen(network, addr)
		if err != nil {
			return
		}
		if u, ok := l.(*net.UnixListener); ok && !strings.HasPrefix(addr, "@") {
			u.SetUnlinkOnClose(false)
			os.Chmod(addr, 0o777)
		}
		lines = append(lines, name+" "+l.Addr().String())
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				hit(name)
				c.Write([]byte("HTTP/1.0 200 OK\r\n\r\nDID hello\n"))
				c.Close()
			}
		}()
	}
	packet := func(name, network, addr string) {
		c, err := net.ListenPacket(network, addr)
		if err != nil {
			return
		}
		if network == "unixgram" {
			os.Chmod(addr, 0o777)
		}
		lines = append(lines, name+" "+c.LocalAddr().String())
		go func() {
			for buf := make([]byte, 512); ; {
				if _, _, err := c.ReadFrom(buf); err != nil {
					return
				}
				hit(name)
			}
		}()
	}
	if os.Getenv("RELATIVE") != "" { // the kernel keeps the name as it was given
		fatal(os.Chdir(filepath.Dir(named)))
		named = filepath.Base(named)
	}
	stream("TCP", "tcp4", "127.0.0.1:0")
	stream("TCP6", "tcp6", "[::1]:0")
	packet("UDP", "udp4", "127.0.0.1:0")
	stream("UNIX", "unix", named)
	packet("UNIXGRAM", "unixgram", named+".log")
	stream("ABSTRACT", "unix", "@cgesc-"+strconv.Itoa(os.Getpid()))
	if os.Getuid() == 0 {
		run := "/run/cgesc-" + os.Getenv("SUITE") + "-" + strconv.Itoa(os.Getpid()) + ".sock"
		stream("RUN", "unix", run)
		defer os.Remove(run)
	}
	slices.Sort(lines)
	ports := filepath.Join(dir, "ports")
	fatal(os.WriteFile(ports+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	fatal(os.Rename(ports+".new", ports))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-stop:
	case <-time.After(2 * time.Minute):
	}
}

// listen is net.Listen. With RENAMED in the environment a named socket has its name
// from a rename, so that it is not the one that the kernel keeps.
func listen(network, addr string) (net.Listener, error) {
	if os.Getenv("RENAMED") == "" || network != "unix" || strings.HasPrefix(addr, "@") {
		return net.Listen(network, addr)
	}
	l, err := net.Listen(network, addr+".new")
	if err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		err = os.Rename(addr+".new", addr)
	}
	return l, err
}
