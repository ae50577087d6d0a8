package warden

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// passListeners makes the listeners in the network namespace of the process and passes
// them to the caller, who serves them outside of it: no program runs between the two. It
// sends a report of their kinds, then a byte with the descriptors.
func passListeners(ctl control, list []Listener) error {
	var kinds []string
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, l := range list {
		kind := unix.SOCK_STREAM
		if l.UDP {
			kind = unix.SOCK_DGRAM
		}
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		fds, kinds = append(fds, fd), append(kinds, l.Kind)
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(l.Port), Addr: l.IP}); err != nil {
			return fmt.Errorf("port %d: %w", l.Port, err)
		}
		if !l.UDP {
			if err := unix.Listen(fd, 128); err != nil {
				return fmt.Errorf("port %d: %w", l.Port, err)
			}
		}
	}
	if err := WriteFrame(ctl, Report{Listen: kinds}); err != nil {
		return err
	}
	return unix.Sendmsg(int(ctl), []byte{0}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
}

// TakeListeners receives what passListeners passed.
func TakeListeners(ctl *os.File, n int) (files []*os.File, err error) {
	raw, err := ctl.SyscallConn()
	if err != nil {
		return nil, err
	}
	oob := make([]byte, unix.CmsgSpace(4*n))
	var got int
	rerr := raw.Read(func(fd uintptr) bool {
		_, got, _, _, err = unix.Recvmsg(int(fd), make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(err, unix.EAGAIN)
	})
	if err = errors.Join(rerr, err); err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:got])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "listener"))
		}
	}
	if len(files) != n {
		return files, fmt.Errorf("%d of %d listeners came", len(files), n)
	}
	return files, nil
}
