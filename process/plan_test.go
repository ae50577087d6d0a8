package process

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/warden"
)

// A world is a file system for plans: directories end in a slash, links have "->".
type world []string

func (w world) find(path string) (real string, dir, ok bool) {
	for _, e := range w {
		if from, to, link := strings.Cut(e, "->"); link && (path == from || strings.HasPrefix(path, from+"/")) {
			return w.find(to + strings.TrimPrefix(path, from))
		}
	}
	for _, e := range w {
		switch {
		case path == "/":
			return path, true, true
		case e == path:
			return path, false, true
		case e == path+"/" || strings.HasPrefix(e, path+"/"):
			return path, true, true
		}
	}
	return "", false, false
}

// sees returns what a plan says of a path: of the places that it lies in, the last.
func sees(p *warden.Plan, path string) string {
	a := warden.Readable
	for _, pl := range p.Places {
		if within(string(pl.Path), path) {
			a = pl.Access
		}
	}
	return string(rune(a))
}

func TestPlan(t *testing.T) {
	home := world{
		"/home/ann/ws/.git/hooks/", "/home/ann/ws/.git/config", "/home/ann/ws/src/a.go", "/home/ann/ws/.env", "/home/ann/ws/out->/home/ann/.ssh",
		"/home/ann/.ssh/id", "/home/ann/.cargo/bin/cargo", "/home/ann/.cargo/credentials.toml", "/home/ann/.local/bin/tool", "/home/ann/.local/share/keyrings/k",
		"/home/ann/go1.26/bin/go", "/home/ann/go1.26/pkg/tool", "/home/ann/own/bin/x", "/home/ann/.cache/callgate/1/f", "/home/ann/notes", "/home/bob/f", "/home/ann/.config/callgate/callgate.yaml",
		"/root/f", "/tmp/f", "/var/tmp/f", "/run/docker.sock", "/var/lib/app.sock", "/var/lib/app.db", "/opt/data/f", "/opt/secret/f", "/usr/bin/sh", "/etc/shadow", "/etc/passwd", "/etc/resolv.conf", "/etc/ssl/private/k", "/etc/ssl/certs/c", "/var/lib/private/f", "/swapfile",
		"/opt/link->/opt/secret", "/srv/q/f", "/srv/q/.vscode->/home/ann/.ssh", "/dev/loop0", "/home/ann/ws/.vscode->/home/ann/ws/conf", "/home/ann/ws/conf/tasks.json", "/srv/p/.git/config",
	}
	user := machine{homes: []string{"/home/ann"}, temps: []string{"/tmp", "/var/tmp"}, sockets: []string{"/run/docker.sock", "/var/lib/app.sock", "/home/ann/ws/dev.sock"},
		path: []string{"/home/ann/.cargo/bin", "/home/ann/.local/bin", "/home/ann/go1.26/bin", "/home/ann/own/bin", "/usr/bin"}, find: home.find}
	root := user
	root.root = true
	for _, test := range []struct {
		name    string
		sandbox Sandbox
		machine machine
		ws      string
		want    string // path=access, ...
	}{
		{"the workspace is written, the rest read", Sandbox{}, user, "/home/ann/ws", "/home/ann/ws/src/a.go=w /usr/bin/sh=r /etc/passwd=r /opt/data/f=r"},
		{"homes are hidden, all of them", Sandbox{}, user, "/home/ann/ws", "/home/ann/notes=h /home/ann/.ssh/id=h /home/bob/f=h /root/f=h /home/ann=h"},
		{"also for a workspace elsewhere", Sandbox{}, user, "/srv/p", "/home/ann/ws/src/a.go=h /srv/p/x=w"},
		{"directories for temporary files are its own", Sandbox{}, user, "/home/ann/ws", "/tmp/f=p /var/tmp/f=p"},
		{"sockets of services are out of sight", Sandbox{}, user, "/home/ann/ws", "/run/docker.sock=h /var/lib/app.sock=h /var/lib/app.db=r"},
		{"but not its own", Sandbox{}, user, "/home/ann/ws", "/home/ann/ws/dev.sock=w"},
		{"programs on PATH are shown, not what lies beside them", Sandbox{}, user, "/home/ann/ws",
			"/home/ann/.cargo/bin/cargo=r /home/ann/.cargo/credentials.toml=h /home/ann/.local/bin/tool=r /home/ann/.local/share/keyrings/k=h /home/ann/own/bin/x=r"},
		{"a toolchain is shown whole", Sandbox{}, user, "/home/ann/ws", "/home/ann/go1.26/bin/go=r /home/ann/go1.26/pkg/tool=r"},
		{"caches are written", Sandbox{}, user, "/home/ann/ws", "/home/ann/.cache/callgate/1/f=w"},
		{"a home as workspace keeps its secrets", Sandbox{}, user, "/home/ann", "/home/ann/notes=w /home/ann/.ssh/id=h /home/ann/.config/callgate/callgate.yaml=h"},
		{"everything as workspace, too", Sandbox{}, user, "/", "/opt/data/f=w /home/ann/.ssh/id=h /home/ann/notes=h"},
		{"read-only", Sandbox{ReadOnly: true}, user, "/home/ann/ws", "/home/ann/ws/src/a.go=r /home/ann/.cache/callgate/1/f=w /tmp/f=p"},
		{"read-only but for a part", Sandbox{ReadOnly: true, Writable: []string{"src"}}, user, "/home/ann/ws", "/home/ann/ws/src/a.go=w /home/ann/ws/.env=r"},
		{"granted", Sandbox{Writable: []string{"/opt/data"}, Readable: []string{"/home/ann/notes", "/run/docker.sock"}}, user, "/home/ann/ws", "/opt/data/f=w /home/ann/notes=r /run/docker.sock=r"},
		{"hidden", Sandbox{Hide: []string{"/opt/secret", ".env"}}, user, "/home/ann/ws", "/opt/secret/f=h /home/ann/ws/.env=h"},
		{"what a link leads to", Sandbox{Hide: []string{"/opt/link"}}, user, "/home/ann/ws", "/opt/secret/f=h"},
		{"hide goes before a grant of the same", Sandbox{Hide: []string{"/opt/data"}, Writable: []string{"/opt/data"}}, user, "/home/ann/ws", "/opt/data/f=h"},
		{"a part of what is hidden", Sandbox{Hide: []string{"/opt"}, Readable: []string{"/opt/data"}}, user, "/home/ann/ws", "/opt/data/f=r /opt/secret/f=h"},
		{"a link that a process made grants nothing", Sandbox{Writable: []string{"out"}, Readable: []string{"out"}}, user, "/home/ann/ws", "/home/ann/.ssh/id=h"},
		{"nor with a read-only workspace", Sandbox{ReadOnly: true, Writable: []string{"out"}}, user, "/home/ann/ws", "/home/ann/.ssh/id=h"},
		{"protected outside of the workspace", Sandbox{Writable: []string{"/opt/data"}, Protect: []string{"/opt/data/f"}}, user, "/home/ann/ws", "/opt/data/f=r /opt/data/g=w"},
		{"what a protected link leads to", Sandbox{}, user, "/home/ann/ws", "/home/ann/ws/conf/tasks.json=r"},
		{"and shows nothing", Sandbox{}, user, "/srv/q", "/home/ann/.ssh/id=h"},
		{"devices", Sandbox{Level: Confined}, user, "/home/ann/ws", "/dev/loop0=h"},
		{"files that root alone can read", Sandbox{}, root, "/home/ann/ws", "/etc/shadow=h /etc/passwd=r /etc/ssl/private/k=h /etc/ssl/certs/c=r /var/lib/private/f=h /swapfile=h"},
		{"are the system's matter for others", Sandbox{}, user, "/home/ann/ws", "/etc/shadow=r"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := planFor(test.sandbox, test.ws, "/home/ann/.cache/callgate/1", test.machine)
			if err != nil {
				t.Fatal(err)
			}
			for f := range strings.FieldsSeq(test.want) {
				path, want, _ := strings.Cut(f, "=")
				if got := sees(p, path); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
			// What contains comes first, or its mount would cover the other.
			for i, a := range p.Places {
				for _, b := range p.Places[:i] {
					if within(string(a.Path), string(b.Path)) {
						t.Errorf("%s comes after %s, which it contains", a.Path, b.Path)
					}
				}
			}
		})
	}
}

func TestPlanProtects(t *testing.T) {
	w := world{"/ws/.git/config", "/ws/own/f"}
	p, err := planFor(Sandbox{Protect: []string{"own", "/ws/own/f", "/elsewhere", "../x", "."}}, "/ws", "", machine{find: w.find})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".git/hooks", ".git/config", ".vscode", ".mcp.json", "callgate.yaml", "own", "own/f"} {
		if !slices.Contains(p.Protect, warden.Path(want)) {
			t.Errorf("%s is not protected: %q", want, p.Protect)
		}
	}
	for _, rel := range p.Protect {
		if !filepath.IsLocal(string(rel)) || rel == "." {
			t.Errorf("%q leads out of the workspace", rel)
		}
	}
}

func TestSandboxIsChecked(t *testing.T) {
	for _, test := range []struct {
		s    Sandbox
		want string
	}{
		{Sandbox{Level: "most"}, `"most" is no level`},
		{Sandbox{Net: "some"}, `"some" is no network`},
		{Sandbox{Hosts: []string{"example.com"}}, "hosts are allowed, but the network is"},
		{Sandbox{Level: Confined, Net: AllowedNet, Hosts: []string{"example.com"}}, "at the level isolated only"},
		{Sandbox{Limits: Limits{Memory: -1}}, "negative"},
	} {
		if err := test.s.complete(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.s, err, test.want)
		}
	}
}

func TestParseLevel(t *testing.T) {
	for in, want := range map[string]Level{"": Auto, "auto": Auto, "isolated": Isolated, "confined": Confined, "none": None} {
		if got, err := ParseLevel(in); got != want || err != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if _, err := ParseLevel("None"); err == nil {
		t.Error("None is no spelling of none")
	}
}

// Whatever paths a sandbox names: what contains comes first, what is protected lies in
// the workspace, and nothing of a home comes into view that was not granted.
func FuzzPlan(f *testing.F) {
	f.Add("/home/ann/ws", "src", "/opt", "/home/ann/ws/a", ".env", true)
	f.Add("/home/ann/ws", "../..", "//opt/./data", "", "..", false)
	f.Add("/srv/p", "/", "/", "/", "/", false)
	f.Add("", "+", " ", "\x1e", "/", false)
	f.Add("/home/ann/ws", "out", "out/x", "\x00", "out", false)
	w := world{
		"/home/ann/ws/src/a", "/home/ann/ws/.env", "/home/ann/ws/out->/home/ann/.ssh", "/home/ann/ws/.vscode->/home/ann/.ssh", "/home/ann/.ssh/id", "/home/ann/.cargo/bin/c",
		"/opt/data/f", "/srv/p/f", "/tmp/f", "/etc/resolv.conf", "/usr/bin/sh",
	}
	m := machine{homes: []string{"/home/ann"}, temps: []string{"/tmp"}, path: []string{"/home/ann/.cargo/bin"}, find: w.find}
	f.Fuzz(func(t *testing.T, ws, writable, readable, protect, hide string, readOnly bool) {
		s := Sandbox{Level: Isolated, ReadOnly: readOnly, Writable: []string{writable}, Readable: []string{readable}, Protect: []string{protect}, Hide: []string{hide}}
		if s.complete() != nil {
			return
		}
		p, err := planFor(s, ws, "", m)
		if err != nil {
			return
		}
		for i, a := range p.Places {
			if !filepath.IsAbs(string(a.Path)) {
				t.Errorf("%q is no absolute path", a.Path)
			}
			for _, b := range p.Places[:i] {
				if a.Path != b.Path && within(string(a.Path), string(b.Path)) {
					t.Errorf("%q comes after %q, which it contains", a.Path, b.Path)
				}
			}
		}
		for _, rel := range p.Protect {
			if !filepath.IsLocal(string(rel)) {
				t.Errorf("%q leads out of the workspace", rel)
			}
		}
		granted := func(path string) bool {
			for _, g := range []string{ws, writable, readable} {
				if !filepath.IsAbs(g) {
					g = filepath.Join(string(p.Workspace), g)
				}
				if real, _, ok := w.find(filepath.Clean(g)); ok && within(real, path) && !within(string(p.Workspace), filepath.Clean(g)) || within(filepath.Clean(ws), path) {
					return true
				}
			}
			return false
		}
		if secret := "/home/ann/.ssh/id"; sees(p, secret) != "h" && !granted(secret) {
			t.Errorf("%s is %s", secret, sees(p, secret))
		}
	})
}
