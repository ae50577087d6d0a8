package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/callgate/callgate/internal/warden"
)

func probe() (r Report) {
	r.Landlock = warden.LandlockVersion()
	for _, l := range []Level{Isolated, Confined} {
		err := try(l)
		if err == nil {
			r.Tried = append(r.Tried, Trial{Level: l})
			r.Level = l
			break
		}
		r.Tried = append(r.Tried, Trial{Level: l, Err: err.Error(), Fix: fix(l, err)})
	}
	r.Notes = limits(r.Level, r.Landlock)
	return r
}

// proven is set once a process has started at the highest level. Then there is nothing
// to try.
var proven atomic.Bool

// startAuto starts cmd at the level that Auto takes. The first process is its own trial
// of the highest one. That it failed says nothing about a lower one: Probe decides.
func startAuto(ctx context.Context, cmd Command) (*Process, error) {
	if !proven.Load() {
		first := cmd
		first.Sandbox.Level = Isolated
		p, err := startAt(ctx, first)
		if err == nil {
			proven.Store(true)
		}
		if !errors.As(err, new(*SandboxError)) {
			return p, err
		}
	}
	var err error
	if cmd.Sandbox.Level, err = best(); err != nil {
		return nil, wrap(err)
	}
	return startAt(ctx, cmd)
}

// best returns the level that Auto takes.
func best() (Level, error) {
	if !armed {
		return "", ErrNoMain
	}
	if proven.Load() {
		return Isolated, nil
	}
	r := Probe()
	if r.Level != "" {
		return r.Level, nil
	}
	var why []string
	for _, t := range r.Tried {
		why = append(why, fmt.Sprintf("%s does not start (%s)", t.Level, t.Err))
	}
	return "", &SandboxError{
		Err: errors.New(strings.Join(why, ", ")),
		Fix: "callgate doctor says what to install or to set; the level none starts programs without any",
	}
}

// fix says what would help, by what is set on this machine.
func fix(l Level, err error) string {
	on := func(name, value string) bool {
		b, err := os.ReadFile("/proc/sys/" + name)
		return err == nil && strings.TrimSpace(string(b)) == value
	}
	switch {
	case l == Confined:
		return "use Linux 6.2 or later with Landlock switched on (lsm=landlock,... on the kernel's command line)"
	case on("kernel/apparmor_restrict_unprivileged_userns", "1") && os.Getuid() != 0:
		return "AppArmor keeps unprivileged users from namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for callgate with \"userns,\""
	case on("kernel/unprivileged_userns_clone", "0") && os.Getuid() != 0:
		return "sysctl kernel.unprivileged_userns_clone=1"
	case on("user/max_user_namespaces", "0"):
		return "sysctl user.max_user_namespaces=10000"
	case inContainer():
		return "a container keeps its programs from namespaces: run it with a seccomp profile that has them and an unmasked /proc, or be content with confined"
	}
	return "see docs/sandbox.md for what each system needs"
}

func inContainer() bool {
	for _, f := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return os.Getenv("container") != ""
}

// limits says what is not enforced on this machine at a level.
func limits(l Level, abi int) (notes []string) {
	_, memory, pids := cgroupsFor(1, 1, os.Getuid() == 0, "")
	switch l {
	case Isolated:
		if abi < 1 {
			notes = append(notes, "The kernel has no Landlock, which would be a second wall around the files.")
		}
		if os.Getuid() == 0 && !pids {
			notes = append(notes, "The number of processes is not bounded: for root that needs a cgroup with the controller pids that can be written.")
		}
	case Confined:
		notes = append(notes,
			"Places in the workspace are not protected: .git/hooks and the settings of editors and agents can be changed.",
			"Mode, owner, times and extended attributes of files outside can be changed as far as the user may: Landlock has no right for them.",
			"The names and command lines of other processes can be read in /proc.",
			"The number of processes is not bounded"+map[bool]string{true: " but by a cgroup.", false: "."}[pids])
		if abi < 6 {
			notes = append(notes, "Processes of the same user can be signaled: Landlock of version 6 (Linux 6.12) would stop that.")
		}
	}
	if l != "" && !memory {
		notes = append(notes, "A limit of memory holds for each process and not for all together: there is no cgroup with the controller memory that can be written.")
	}
	return notes
}
