package warden

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// What is hidden is allowed by no rule, and all else by one: Landlock has no rule that
// takes away.
func TestAllowed(t *testing.T) {
	files := fstest.MapFS{}
	for _, f := range strings.Fields("usr/bin/sh etc/passwd etc/shadow etc/ssl/private/k etc/ssl/certs/c home/ann/ws/a home/ann/ws/.env home/ann/.ssh/id home/ann/.cargo/bin/cargo home/ann/.cargo/token " +
		"root/f tmp/other tmp/mine/f run/s var/lib/app/f var/lib/app/key") {
		files[f] = &fstest.MapFile{Data: []byte("x")}
	}
	files["bin"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("usr/bin")}
	list := func(dir string) []os.DirEntry {
		name := strings.TrimPrefix(dir, "/")
		if name == "" {
			name = "."
		}
		entries, _ := files.ReadDir(name)
		return entries
	}
	p := &Plan{Places: []Place{
		{"/home", Hidden, true}, {"/root", Hidden, true}, {"/run", Hidden, true}, {"/tmp", Private, true},
		{"/etc/shadow", Hidden, false}, {"/tmp/mine", Writable, true}, {"/etc/ssl/private", Hidden, true},
		{"/home/ann/ws", Writable, true}, {"/home/ann/ws/.env", Readable, false}, {"/home/ann/.cargo/bin", Readable, true}, {"/var/lib/app/key", Hidden, false},
	}}
	a := allowed(p, list)
	within := func(dirs, files []string, path string) bool {
		return slices.Contains(files, path) || slices.ContainsFunc(dirs, func(d string) bool { return d == "/" || path == d || strings.HasPrefix(path, d+"/") })
	}
	for path, want := range map[string]string{
		"/usr/bin/sh": "r", "/etc/passwd": "r", "/etc/shadow": "", "/etc/ssl/private/k": "", "/etc/ssl/certs/c": "r", "/home/ann/ws/a": "rw",
		"/home/ann/.ssh/id": "", "/home/ann/.cargo/bin/cargo": "r", "/home/ann/.cargo/token": "", "/root/f": "", "/tmp/other": "", "/tmp/mine/f": "rw",
		"/run/s": "", "/var/lib/app/f": "r", "/var/lib/app/key": "", "/home/ann/ws/new": "rw", "/new": "",
	} {
		got := ""
		if within(a.roDirs, a.roFiles, path) || within(a.rwDirs, a.rwFiles, path) {
			got = "r"
		}
		if within(a.rwDirs, a.rwFiles, path) {
			got += "w"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if want := []string{"/etc", "/etc/ssl", "/var", "/var/lib", "/var/lib/app"}; !slices.Equal(a.lists, want) {
		t.Errorf("lists %q, want %q", a.lists, want)
	}
	// Within namespaces what is hidden is not there.
	p.Isolated = true
	if a = allowed(p, list); !slices.Equal(a.roDirs, []string{"/"}) || !slices.Equal(a.rwDirs, []string{"/tmp", "/tmp/mine", "/home/ann/ws"}) {
		t.Errorf("%+v", a)
	}
}

// What lies between a writable place and a stricter one could be renamed.
func TestMovable(t *testing.T) {
	p := &Plan{Places: []Place{
		{"/home", Hidden, true}, {"/home/ann/ws", Writable, true}, {"/home/ann/ws/a/b/key", Hidden, false}, {"/home/ann/ws/x/ro", Readable, true}, {"/home/ann/ws/x/ro/in/key", Hidden, false},
	}}
	for name, want := range map[string][]string{
		"/home": nil, "/home/ann/ws": nil, "/home/ann/ws/key": nil, "/usr/lib/x": nil, "/home/ann/wsx/a/b": nil,
		"/home/ann/ws/a/b/key": {"/home/ann/ws/a", "/home/ann/ws/a/b"}, "/home/ann/ws/x/ro/in/key": nil,
	} {
		if got := p.movable(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	all := &Plan{Places: []Place{{"/", Writable, true}, {"/home/ann", Hidden, true}}}
	if got := all.movable("/home/ann"); !slices.Equal(got, []string{"/home"}) {
		t.Errorf("%q", got)
	}
}

// A path that is no text crosses to the helper as it is.
func TestPlanCrossesAsItIs(t *testing.T) {
	want := Request{Args: [][]byte{[]byte("\xff")}, Plan: &Plan{Isolated: true, Workspace: "/a\xff\n", Places: []Place{{"/a\xff\n", Writable, true}}, Protect: []Path{".git/hooks"},
		Listeners: []Listener{{"dns", true, [4]byte{127, 0, 0, 1}, 53}}, Cgroups: []Cgroup{{"/sys", "n", "/h", []Setting{{"pids.max", "1"}}}}}}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := WriteFrame(w, want); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var got Request
	if err := ReadFrame(r, &got); err != nil || got.Plan.Workspace != want.Plan.Workspace || got.Plan.Places[0] != want.Plan.Places[0] ||
		string(got.Args[0]) != "\xff" || got.Plan.Listeners[0] != want.Plan.Listeners[0] || got.Plan.Cgroups[0].Files[0] != want.Plan.Cgroups[0].Files[0] {
		t.Errorf("%+v, %v", got, err)
	}
}
