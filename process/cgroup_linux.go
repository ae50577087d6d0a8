package process

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/callgate/callgate/internal/warden"
)

// A hierarchy is a tree of cgroups with some controllers.
type hierarchy struct {
	unified     bool
	controllers []string
	up          string // a directory in which we can make groups
	home        string // ours
}

// hierarchies are those in which this process can make groups.
var hierarchies = sync.OnceValue(func() []hierarchy {
	self, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	defer self.Close()
	mounts := cgroupMounts()
	var out []hierarchy
	for lines := bufio.NewScanner(self); lines.Scan(); {
		f := strings.SplitN(lines.Text(), ":", 3)
		if len(f) != 3 {
			continue
		}
		m, ok := mounts[f[1]]
		if !ok {
			continue
		}
		rel, err := filepath.Rel(m.root, f[2])
		if err != nil || !filepath.IsLocal(rel) {
			rel = "." // a namespace of cgroups: what we see is our own
		}
		h := hierarchy{unified: f[1] == "", home: filepath.Join(m.at, rel)}
		if !h.unified {
			h.controllers = strings.Split(f[1], ",")
			if h.up = h.home; canMake(h.up) {
				out = append(out, h)
			}
			continue
		}
		// A group that has processes has no groups below it that are limited, except for
		// the root: a neighbour, a child, a child of the root.
		for _, up := range []string{path.Dir(h.home), h.home, m.at} {
			if !strings.HasPrefix(up, m.at) || !canMake(up) {
				continue
			}
			b, _ := os.ReadFile(filepath.Join(up, "cgroup.subtree_control"))
			if h.controllers = strings.Fields(string(b)); len(h.controllers) > 0 {
				h.up = up
				out = append(out, h)
				break
			}
		}
	}
	return out
})

func canMake(dir string) bool {
	return unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
}

type cgroupMount struct{ at, root string }

// cgroupMounts returns where hierarchies are mounted, by their controllers as
// /proc/self/cgroup writes them.
func cgroupMounts() map[string]cgroupMount {
	out := map[string]cgroupMount{}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return out
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		left, right, ok := strings.Cut(lines.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		m := cgroupMount{at: l[4], root: l[3]}
		switch r[0] {
		case "cgroup2":
			out[""] = m
		case "cgroup":
			var controllers []string
			for _, o := range strings.Split(r[2], ",") {
				if slices.Contains([]string{"pids", "memory", "cpu", "cpuacct", "freezer", "blkio", "devices", "hugetlb"}, o) {
					controllers = append(controllers, o)
				}
			}
			out[strings.Join(controllers, ",")] = m
		}
	}
	return out
}

// helperTasks is how many threads a helper may have, which is counted with the
// process's own.
const helperTasks = 16

// cgroupsFor returns the groups that hold the limits, and whether memory and processes
// are limited by them. root's processes are not bounded otherwise.
func cgroupsFor(processes int, bytes int64, root bool, name string) (groups []warden.Cgroup, memory, pids bool) {
	for _, h := range hierarchies() {
		var files []warden.Setting
		if root && !pids && slices.Contains(h.controllers, "pids") {
			files = append(files, warden.Setting{File: "pids.max", Value: strconv.Itoa(processes + helperTasks)})
			pids = true
		}
		if bytes > 0 && !memory && slices.Contains(h.controllers, "memory") {
			n := strconv.FormatInt(bytes, 10)
			if h.unified {
				files = append(files, warden.Setting{File: "memory.max", Value: n}, warden.Setting{File: "memory.swap.max", Value: "0"})
			} else {
				files = append(files, warden.Setting{File: "memory.limit_in_bytes", Value: n}, warden.Setting{File: "memory.memsw.limit_in_bytes", Value: n})
			}
			memory = true
		}
		if len(files) > 0 {
			groups = append(groups, warden.Cgroup{Up: warden.Path(h.up), Name: name, Home: warden.Path(h.home), Files: files})
		}
	}
	return groups, memory, pids
}
