package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

const openNoWait = 0

// identity tells one file from another on this machine and how many names it has. Windows answers only for an open file.
func identity(root *os.Root, name string, _ fs.FileInfo) (dev, ino, names uint64, ok bool) {
	f, err := root.Open(name)
	if err != nil {
		return 0, 0, 0, false
	}
	defer f.Close()
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &d); err != nil {
		return 0, 0, 0, false
	}
	return uint64(d.VolumeSerialNumber), uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow), uint64(d.NumberOfLinks), true
}

// keepOwner has nothing to keep: access lists come from the directory.
func keepOwner(_ *os.File, old fs.FileInfo) fs.FileMode { return old.Mode().Perm() }
