package process

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempName returns a name for the private directory of a process. Whoever watches
// over the process makes the directory and removes it, so that it goes even when
// we are killed.
func tempName() string {
	return filepath.Join(os.TempDir(), "callgate-"+strings.ToLower(rand.Text()))
}

// removeTemp removes the directory when its process has ended. Directories without
// permissions, such as a module cache has, are given them first.
func removeTemp(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
			if err != nil {
				return nil // the second visit of a directory that could not be read
			}
		}
		return nil
	})
	return os.RemoveAll(dir)
}
