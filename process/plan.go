package process

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/warden"
)

// A machine is what a plan depends on beside the Sandbox.
type machine struct {
	root  bool     // the caller is the user root
	homes []string // of the caller
	path  []string // where the process will look for programs
	temps []string // directories for temporary files
	// sockets are named sockets that somebody listens at. A mount that is read-only
	// does not keep a process from them.
	sockets []string
	// linked finds the repository of a workspace whose .git is a file that names it; nil
	// finds none.
	linked func(workspace string) (linked, bool)
	// find returns the path without links and whether it is a directory.
	find func(path string) (real string, dir, ok bool)
}

// Homes of all users, and where the sockets of system services are.
var (
	homesOfAll = []string{"/home", "/root", "/Users"}
	runs       = []string{"/run", "/var/run"}
)

// toolRoots are directories of a home that programs on PATH need, without secrets in
// them. A root that ends in "/bin" is shown as far as that.
var toolRoots = []string{
	".pyenv", ".rbenv", ".nodenv", ".goenv", ".asdf", ".nvm", ".volta", ".fnm", ".deno/bin", ".bun/bin", ".sdkman/candidates",
	".cargo/bin", ".rustup/toolchains", ".local/bin", ".local/lib", ".local/share/mise", ".local/share/pipx", ".local/share/uv", ".local/share/pnpm",
	".local/share/fnm", ".nix-profile", ".linuxbrew", "go/bin", "sdk", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "bin", ".krew/bin", ".dotnet", ".ghcup", ".juliaup", ".elan",
}

// secretsOfHome are hidden even in a home that is the workspace, or lies in it.
var secretsOfHome = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/callgate", ".local/state/callgate",
	".local/share/keyrings", ".password-store", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".config/git/credentials", ".pgpass", ".vault-token", ".cargo/credentials.toml", ".cargo/credentials",
	".bash_history", ".zsh_history", ".mozilla", ".config/google-chrome", ".config/chromium",
}

// secretsOfRoot are files that no user but root can read: for root they would lie open.
var secretsOfRoot = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private", "/etc/kubernetes", "/etc/wireguard", "/etc/NetworkManager/system-connections",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/krb5.keytab", "/var/spool/cron", "/var/log", "/boot", "/lost+found",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/lxd", "/var/lib/incus", "/var/snap", "/var/lib/private", "/var/lib/sss", "/var/lib/NetworkManager", "/var/backups", "/var/mail", "/var/spool/mail",
	"/etc/letsencrypt", "/etc/pki/tls/private", "/etc/ipsec.secrets", "/etc/ipsec.d/private", "/etc/openvpn", "/etc/ppp/chap-secrets", "/etc/ppp/pap-secrets", "/etc/netplan", "/etc/wpa_supplicant", "/etc/rancher",
	"/var/lib/rancher", "/var/lib/cloud", "/var/lib/waagent", "/var/lib/systemd/coredump", "/var/crash", "/var/cache/debconf/passwords.dat", "/swapfile", "/swap.img",
}

// Which of two entries for one path holds: what a person wrote goes before what is
// so by default, the stricter before the looser.
const (
	byDefault = iota
	granted
	denied
)

// layout gathers places.
type layout struct {
	m      *machine
	places map[string]warden.Place
	rank   map[string]int
}

// put adds an entry for a path if it exists. What the path leads to is meant, too.
func (l *layout) put(path string, a warden.Access, rank int) {
	real, dir, ok := l.m.find(path)
	if !ok {
		return
	}
	if have, double := l.rank[real]; double && (have > rank || have == rank && stricter(l.places[real].Access, a)) {
		return
	}
	l.places[real], l.rank[real] = warden.Place{Path: warden.Path(real), Access: a, Dir: dir}, rank
}

// stricter reports whether a allows less than b, or as much.
func stricter(a, b warden.Access) bool {
	order := []warden.Access{warden.Hidden, warden.Private, warden.Readable, warden.Writable}
	return slices.Index(order, a) <= slices.Index(order, b)
}

// planFor resolves s for a process in the given workspace, whose caches lie in
// caches ("" for none).
func planFor(s Sandbox, workspace, caches string, m machine) (*warden.Plan, error) {
	if !filepath.IsAbs(workspace) {
		return nil, fmt.Errorf("the workspace %q is not an absolute path", workspace)
	}
	ws, dir, ok := m.find(workspace)
	if !ok || !dir {
		return nil, fmt.Errorf("the workspace %s cannot be found", workspace)
	}
	l := layout{m: &m, places: map[string]warden.Place{}, rank: map[string]int{}}
	for _, h := range slices.Concat(homesOfAll, m.homes, runs) {
		l.put(h, warden.Hidden, byDefault)
	}
	if s.Level == Confined { // but for the harmless ones, which the helper adds; isolated has a /dev of its own
		l.put("/dev", warden.Hidden, byDefault)
	}
	for _, t := range m.temps {
		l.put(t, warden.Private, byDefault)
	}
	if m.root {
		for _, p := range secretsOfRoot {
			l.put(p, warden.Hidden, byDefault)
		}
	}
	for _, p := range m.sockets {
		if a := l.at(p); a == warden.Hidden || a == warden.Private || within(ws, p) {
			continue
		}
		l.put(p, warden.Hidden, byDefault)
	}
	for _, d := range m.path {
		if root, ok := toolRoot(d, &m); ok {
			l.put(root, warden.Readable, byDefault)
			continue
		}
		if real, _, ok := m.find(d); ok { // what a link on PATH leads to
			if root, ok := toolRoot(real, &m); ok {
				l.put(root, warden.Readable, byDefault)
			}
		}
	}
	at := func(p string) string {
		if !filepath.IsAbs(p) {
			p = filepath.Join(ws, p)
		}
		return filepath.Clean(p)
	}
	if s.ReadOnly {
		l.put(ws, warden.Readable, granted)
	} else {
		l.put(ws, warden.Writable, granted)
	}
	if caches != "" {
		l.put(caches, warden.Writable, granted)
	}
	// A path in the workspace means the thing of that name, and not what a process made
	// a link to meanwhile. Granted it is already.
	for _, p := range s.Readable {
		if p = at(p); !within(ws, p) {
			l.put(p, warden.Readable, granted)
		}
	}
	for _, p := range s.Writable {
		if p = at(p); !within(ws, p) || s.ReadOnly && l.straight(p) {
			l.put(p, warden.Writable, granted)
		}
	}
	for _, p := range s.Hide {
		l.put(at(p), warden.Hidden, denied)
	}
	var fixed []string // protected, by more than their names in the workspace
	if m.linked != nil {
		if r, ok := m.linked(ws); ok {
			if !s.ReadOnly && r.common != "" {
				l.put(r.common, warden.Writable, byDefault)
			}
			fixed = r.fixed
		}
	}
	protect := make([]warden.Path, 0, len(Protected)+len(s.Protect))
	var never []warden.Path
	for _, p := range slices.Concat(Protected, s.Protect, fixed) {
		p = at(p)
		if rel, err := filepath.Rel(ws, p); err == nil && filepath.IsLocal(rel) && rel != "." {
			protect = append(protect, warden.Path(rel))
		}
		real, _, ok := m.find(p)
		if ok && (real != p || !within(ws, p)) {
			fixed = append(fixed, real)
		}
		if !ok && filepath.Base(p) == "commondir" && filepath.Base(filepath.Dir(filepath.Dir(p))) != "worktrees" && (p == filepath.Join(ws, ".git", "commondir") || slices.Contains(fixed, p)) {
			never = append(never, warden.Path(p))
		}
	}
	for _, p := range fixed { // what could not be written is not shown for it
		if l.at(p) == warden.Writable {
			l.put(p, warden.Readable, denied)
		}
	}
	for _, h := range m.homes {
		for _, name := range secretsOfHome {
			if p := filepath.Join(h, name); l.at(p) != warden.Hidden {
				l.put(p, warden.Hidden, byDefault)
			}
		}
	}
	out := &warden.Plan{
		Isolated: s.Level == Isolated, Workspace: warden.Path(ws), Protect: protect, Never: never, FullNet: s.Net == FullNet,
		Processes: s.Limits.Processes, FileSize: s.Limits.FileSize,
	}
	for _, p := range l.places {
		out.Places = append(out.Places, p)
	}
	slices.SortFunc(out.Places, func(a, b warden.Place) int {
		return cmp.Or(cmp.Compare(strings.Count(string(a.Path), "/"), strings.Count(string(b.Path), "/")), strings.Compare(string(a.Path), string(b.Path)))
	})
	if real, _, ok := m.find("/etc/resolv.conf"); ok {
		out.Resolv = warden.Path(real)
	}
	return out, nil
}

// at returns what the places say of a path.
func (l *layout) at(path string) warden.Access {
	for p := path; ; p = filepath.Dir(p) {
		if e, ok := l.places[p]; ok {
			return e.Access
		}
		if p == filepath.Dir(p) {
			return warden.Readable
		}
	}
}

// straight reports whether no link is on the way to path.
func (l *layout) straight(path string) bool {
	real, _, ok := l.m.find(path)
	return ok && real == path
}

// within reports whether path is dir or lies in it, by their names.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// toolRoot returns the directory that has to be shown for the programs of dir, which
// is on PATH, to run; false if dir lies in no home and needs no showing.
func toolRoot(dir string, m *machine) (root string, ok bool) {
	dir = filepath.Clean(dir)
	for _, h := range slices.Concat(m.homes, homesOfAll) {
		if dir == h || !within(h, dir) {
			continue
		}
		for _, t := range toolRoots {
			if t = filepath.Join(h, t); within(t, dir) {
				return t, true
			}
		}
		// A toolchain that was unpacked somewhere: its libraries lie beside its bin.
		if up := filepath.Dir(dir); filepath.Base(dir) == "bin" && up != h && filepath.Base(up) != ".local" && isToolchain(up, m) {
			return up, true
		}
		return dir, true
	}
	return "", false
}

func isToolchain(dir string, m *machine) bool {
	for _, name := range []string{"lib", "lib64", "libexec", "pkg"} {
		if _, isDir, ok := m.find(filepath.Join(dir, name)); ok && isDir {
			return true
		}
	}
	return false
}
