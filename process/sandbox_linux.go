package process

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/callgate/callgate/internal/egress"
	"github.com/callgate/callgate/internal/warden"
)

// confine resolves the sandbox of c: its level, its plan, which is nil at None, and where
// the process finds its files. temp is the name of its private directory.
func (c *Command) confine(temp string) (p *warden.Plan, private string, err error) {
	s := &c.Sandbox
	private = filepath.Join(os.TempDir(), temp)
	switch s.Level {
	case None:
		return nil, private, nil
	case Isolated, Confined:
	default:
		return nil, "", fmt.Errorf("sandbox: the level %s is one of another system; use auto, isolated, confined or none", s.Level)
	}
	if s.Net == AllowedNet && s.Level != Isolated {
		return nil, "", fmt.Errorf("sandbox: single hosts can be allowed at the level isolated only, which this machine does not start; use no network or the full one")
	}
	plan, err := c.plan()
	if err != nil {
		return nil, "", err
	}
	if s.Level == Isolated {
		private = filepath.Join("/tmp", temp)
		// Links outside of the workspace lead nowhere inside.
		if c.Env.Workspace != "" {
			c.Env.Workspace = string(plan.Workspace)
		}
		if real, err := filepath.EvalSymlinks(c.Dir); err == nil {
			c.Dir = real
		}
		if s.Net == AllowedNet {
			for _, l := range egress.Listeners {
				at, err := netip.ParseAddrPort(l.Addr)
				if err != nil {
					return nil, "", err
				}
				plan.Listeners = append(plan.Listeners, warden.Listener{Kind: l.Kind, UDP: strings.HasPrefix(l.Network, "udp"), IP: at.Addr().As4(), Port: at.Port()})
			}
			c.Env.preset(proxyVariables)
		}
	} else {
		plan.Places = append(plan.Places, warden.Place{Path: warden.Path(private), Access: warden.Writable, Dir: true})
		for _, h := range s.Hide {
			if real, _, ok := find(absolute(string(plan.Workspace), h)); ok && !s.ReadOnly && within(string(plan.Workspace), real) {
				return nil, "", fmt.Errorf("sandbox: %s lies in the workspace, where the level confined can hide nothing; move it out, or see callgate doctor for what isolated needs", h)
			}
		}
	}
	if os.Getuid() == 0 { // who has no capabilities, and tar would give files away
		c.Env.preset(map[string]string{"TAR_OPTIONS": "--no-same-owner"})
	}
	groups, memory, _ := cgroupsFor(s.Limits.Processes, s.Limits.Memory, os.Getuid() == 0, temp)
	plan.Cgroups = groups
	if s.Limits.Memory > 0 && !memory {
		plan.AddressSpace = s.Limits.Memory
	}
	return plan, private, nil
}

func absolute(workspace, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(workspace, p)
}

// sockets returns the named sockets of this machine that somebody listens at
// (proc_pid_net(5), unix: the flag __SO_ACCEPTCON), or takes datagrams at.
func sockets() (paths []string) {
	f, err := os.Open("/proc/self/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !strings.HasPrefix(fields[7], "/") {
			continue
		}
		flags, _ := strconv.ParseUint(fields[3], 16, 64)
		if p := strings.Join(fields[7:], " "); (flags&(1<<16) != 0 || fields[4] == "0002") && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// cloning returns what the kernel shall do when it starts the helper of a plan.
func cloning(p *warden.Plan) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if p == nil || !p.Isolated {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !p.FullNet {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	if os.Getuid() != 0 { // who is not root loses all capabilities by executing the helper
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE}
	}
	return attr
}

// levelOf returns the level of a plan.
func levelOf(p *warden.Plan) Level {
	switch {
	case p == nil:
		return None
	case p.Isolated:
		return Isolated
	}
	return Confined
}
