package warden

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A rule is for the path of the plan, and not for what a link leads to that has come
// into its way: with it the right would be for a place that nobody granted.
func TestRulesFollowNoLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"real/ws", "free"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if LandlockVersion() < MinLandlock {
		t.Skip("no Landlock")
	}
	// That a rule was added shows in the error for one that has rights that are not handled:
	// they are looked at after the path was opened.
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_READ_FILE}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if e != 0 {
		t.Fatal(e)
	}
	defer unix.Close(int(fd))
	for name, want := range map[string]error{"real/ws": unix.EINVAL, "free": unix.EINVAL, "link/ws": nil, "link": nil, "gone": nil} {
		if err := addRule(int(fd), filepath.Join(dir, name), unix.LANDLOCK_ACCESS_FS_WRITE_FILE, true); err != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
