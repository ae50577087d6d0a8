package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	acts["setuid"] = setuid
	acts["race"] = race
	acts["swap"] = swap
	acts["xattr"] = func(args []string) {
		done("setxattr", unix.Setxattr(args[0], "user.cgesc", []byte("x"), 0))
		done("removexattr", unix.Removexattr(args[0], "user.cgesc"))
		unix.Setxattr(args[0], "user.cgesc", []byte("x"), 0)
	}
	acts["sparse"] = func(args []string) { // sparse FILE BYTES: a file of that size
		n, err := strconv.ParseInt(args[1], 10, 64)
		fatal(err)
		f, err := os.Create(args[0])
		fatal(err)
		done("truncate", f.Truncate(n))
	}
	acts["fill"] = func(args []string) { // fill DIR BYTES, in files of 512 MiB
		n, err := strconv.ParseInt(args[1], 10, 64)
		fatal(err)
		for i, got := 0, int64(0); got < n; i, got = i+1, got+1<<29 {
			f, err := os.Create(filepath.Join(args[0], fmt.Sprint("fill", i)))
			if err == nil {
				err = unix.Fallocate(int(f.Fd()), 0, 0, 1<<29)
			}
			if err != nil {
				fmt.Println("tried", got, err)
				return
			}
			f.Close()
		}
		fmt.Println("DID fill")
	}
}

// setuid DIR leaves files with the setuid and setgid bits, by each call that can.
func setuid(args []string) {
	bits := func(how, path string, err error) {
		var st unix.Stat_t
		if err == nil {
			err = unix.Stat(path, &st)
		}
		if err == nil && st.Mode&(unix.S_ISUID|unix.S_ISGID) == 0 {
			err = unix.EPERM
		}
		done(how, err)
	}
	for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		path := func(how string) string {
			p := filepath.Join(args[0], fmt.Sprintf("%s-%o", how, bit))
			os.WriteFile(p, nil, 0o755)
			return p
		}
		p := path("chmod")
		bits("chmod", p, unix.Chmod(p, bit|0o755))
		p = path("fchmod")
		if fd, err := unix.Open(p, unix.O_RDWR, 0); err == nil {
			bits("fchmod", p, unix.Fchmod(fd, bit|0o755))
		}
		p = path("fchmodat")
		bits("fchmodat", p, unix.Fchmodat(unix.AT_FDCWD, p, bit|0o755, 0))
		p = path("fchmodat2")
		bits("fchmodat2", p, errnoErr(call(unix.SYS_FCHMODAT2, ^uintptr(99), str(p), uintptr(bit|0o755), 0)))
		p = filepath.Join(args[0], fmt.Sprintf("open-%o", bit))
		_, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, bit|0o755)
		bits("open", p, err)
		p = filepath.Join(args[0], fmt.Sprintf("openat2-%o", bit))
		_, err = unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY, Mode: uint64(bit | 0o755)})
		bits("openat2", p, err)
		p = filepath.Join(args[0], fmt.Sprintf("creat-%o", bit))
		_, err = unix.Creat(p, bit|0o755)
		bits("creat", p, err)
		p = filepath.Join(args[0], fmt.Sprintf("mknod-%o", bit))
		bits("mknod", p, unix.Mknod(p, unix.S_IFREG|bit|0o755, 0))
	}
}

// swap A B UNTIL exchanges two names until a file exists, a minute at most.
func swap(args []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		for range 200 {
			if err := unix.Renameat2(unix.AT_FDCWD, args[0], unix.AT_FDCWD, args[1], unix.RENAME_EXCHANGE); err != nil {
				fatal(err)
			}
		}
		if _, err := os.Stat(args[2]); err == nil {
			return
		}
	}
}

// race DIR OUTSIDE N: one thread swaps the directory DIR/d for a link to OUTSIDE,
// another reads and writes through it, N times.
func race(args []string) {
	n, err := strconv.Atoi(args[2])
	fatal(err)
	d, l := filepath.Join(args[0], "d"), filepath.Join(args[0], "l")
	fatal(os.Mkdir(d, 0o755))
	fatal(os.WriteFile(filepath.Join(d, "secret"), []byte("inside"), 0o644))
	fatal(os.Symlink(args[1], l))
	stop := make(chan bool)
	swaps := 0
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if unix.Renameat2(unix.AT_FDCWD, d, unix.AT_FDCWD, l, unix.RENAME_EXCHANGE) == nil {
				swaps++
			}
		}
	}()
	read, wrote, inside := 0, 0, 0
	for i := range n {
		switch b, err := os.ReadFile(filepath.Join(d, "secret")); {
		case err == nil && bytes.Contains(b, []byte("KEY")):
			read++
		case err == nil:
			inside++
		}
		if err := os.WriteFile(filepath.Join(d, fmt.Sprint("w", i%8)), []byte("x"), 0o644); err == nil {
			wrote++
		}
	}
	close(stop)
	fmt.Printf("tried %d times, %d swaps: %d inside, %d outside, %d writes\n", n, swaps, inside, read, wrote)
	if swaps < 100 || inside == 0 {
		fmt.Println("bad: there was no race")
	}
	if read > 0 {
		fmt.Println("DID read outside", read)
	}
}
