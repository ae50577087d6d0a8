package warden

import "os"

// RemoveTemp removes the private directory of a process that has ended. Directories
// without permissions, such as a module cache has, are given them first.
func RemoveTemp(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	permit(dir)
	return os.RemoveAll(dir)
}

// permit gives a directory and all below it the permissions to be emptied.
func permit(dir string) {
	os.Chmod(dir, 0o700)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			permit(dir + string(os.PathSeparator) + e.Name())
		}
	}
}

// PrivateHome is the home in a private directory.
func PrivateHome(temp string) string { return temp + string(os.PathSeparator) + "home" }

// RunName is the variable that marks the processes of one run: its value is found
// in /proc of those that a killed helper left behind.
const RunName = "CALLGATE_RUN"
