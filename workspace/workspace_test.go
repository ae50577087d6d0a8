package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// tree makes files in a new directory: "a/b": "text" is a file, "d/": "" a directory, "l -> target": "" a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	fill(t, dir, files)
	return dir
}

func fill(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if link, target, ok := strings.Cut(name, " -> "); ok {
			must(os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755))
			must(os.Symlink(target, filepath.Join(dir, link)))
			continue
		}
		full := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(os.MkdirAll(full, 0o755))
			continue
		}
		must(os.MkdirAll(filepath.Dir(full), 0o755))
		must(os.WriteFile(full, []byte(text), 0o644))
	}
}

func mustOpen(t testing.TB, dir string) *Workspace {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// H164: a workspace that confines nothing, or is no directory, is refused at the start.
func TestOpenRefusesUnfitDirectories(t *testing.T) {
	dir := tree(t, map[string]string{"a_file": "x", "up -> /": ""})
	for _, c := range []struct{ dir, says string }{
		{"", "not named"},
		{"/", "root of the file system"},
		{"/../", "root of the file system"},
		{filepath.Join(dir, "up"), "root of the file system"},
		{filepath.Join(dir, "nonexistent"), "does not exist"},
		{filepath.Join(dir, "a_file"), "not a directory"},
		{"a\x00b", "NUL"},
	} {
		w, err := Open(c.dir)
		if err == nil {
			w.Close()
			t.Errorf("Open(%q) succeeded", c.dir)
			continue
		}
		if !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Open(%q): %v, want one that says %q", c.dir, err, c.says)
		}
	}
}

func TestOpenWholeDisk(t *testing.T) {
	w, err := OpenWholeDisk("/")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir := tree(t, map[string]string{"a": "hi"})
	if b, err := w.ReadFile(filepath.Join(dir, "a"), 0); string(b) != "hi" {
		t.Error(err)
	}
}

// H164: the home directory is allowed and warned of, as is what contains it.
func TestOpenWarnsOfHome(t *testing.T) {
	dir := tree(t, map[string]string{"home/me/project/": "", "h -> home/me": ""})
	t.Setenv("HOME", filepath.Join(dir, "h"))
	for _, c := range []struct{ dir, says string }{
		{"home/me", "is your home"},
		{"h", "is your home"},
		{"home", "contains your home"},
		{"home/me/project", ""},
	} {
		w := mustOpen(t, filepath.Join(dir, c.dir))
		if got := strings.Join(w.Warnings(), "\n"); !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("Open(%s) warns %q, want %q", c.dir, got, c.says)
		}
	}
}

// H156, H157, H159, H161, H162, H142: which spellings lead to which content, and what is refused how.
func TestPaths(t *testing.T) {
	base := tree(t, map[string]string{
		"private/ws/a.txt":             "hi",
		"private/ws/sub/b.txt":         "sub",
		"private/ws/~/own":             "a plain directory named ~",
		"private/ws/rel -> sub/b.txt":  "",
		"private/ws/dir -> sub":        "",
		"private/ws/up -> sub/..":      "",
		"private/ws/out -> ../../o":    "",
		"private/ws/outf -> ../../o/s": "",
		"private/ws/loop -> loop":      "",
		"private/ws-evil/x":            "s",
		"o/s":                          "s",
		"ws -> private/ws":             "",
	})
	link, real := filepath.Join(base, "ws"), filepath.Join(base, "private/ws")
	fill(t, real, map[string]string{
		"abs -> " + link + "/a.txt":       "",
		"absdir -> " + real + "/sub":      "",
		"absout -> " + base + "/o":        "",
		"abs2 -> " + real + "/absdir":     "",
		"deep/in/there -> ../../rel":      "",
		"deep/in/esc -> ../../../ws-evil": "",
		"missing -> sub/later":            "",
		"lateout -> ../../o/later":        "",
	})
	t.Setenv("HOME", base)
	w := mustOpen(t, link)
	for _, c := range []struct {
		path string
		text string
		err  error
	}{
		{"a.txt", "hi", nil},
		{"./a.txt", "hi", nil},
		{"./nosuch/../a.txt", "hi", nil}, // H162
		{".//a.txt", "hi", nil},
		{link + "/a.txt", "hi", nil}, // H159
		{real + "/a.txt", "hi", nil}, // H159
		{link + "//a.txt", "hi", nil},
		{link + "/sub/../a.txt", "hi", nil},
		{link + "/../ws/a.txt", "hi", nil}, // clean by spelling, then inside
		{"rel", "sub", nil},
		{"dir/b.txt", "sub", nil},
		{"up/a.txt", "hi", nil},
		{"abs", "hi", nil},
		{"absdir/b.txt", "sub", nil},
		{"abs2/b.txt", "sub", nil},
		{"deep/in/there", "sub", nil},
		{"~/own", "a plain directory named ~", nil}, // H161

		{"~/o/s", "", os.ErrNotExist}, // H161
		{"~root/x", "", os.ErrNotExist},
		{base + "/private/ws-evil/x", "", ErrEscape}, // H156
		{"../ws-evil/x", "", ErrEscape},              // H156
		{real + "-evil/x", "", ErrEscape},
		{link + "/../private/ws-evil/x", "", ErrEscape},
		{"..", "", ErrEscape},
		{"sub/../../o/s", "", ErrEscape},
		{"/etc/passwd", "", ErrEscape},
		{"/", "", ErrEscape},
		{"out/s", "", ErrEscape}, // H157
		{"outf", "", ErrEscape},
		{"absout/s", "", ErrEscape},
		{"deep/in/esc/x", "", ErrEscape},
		{"lateout", "", ErrEscape},
		{"missing", "", os.ErrNotExist},
		{"nosuch/file", "", os.ErrNotExist},
		{"a.txt/x", "", ErrNotDir},
		{"loop", "", ErrLinkLoop},
		{"sub", "", ErrIsDir},
		{"dir", "", ErrIsDir},
		{".", "", ErrIsDir},
		{link, "", ErrIsDir},
		{"", "", ErrInvalidPath},
		{"a\x00", "", ErrInvalidPath},
		{strings.Repeat("n", 300), "", ErrInvalidPath},
	} {
		got, err := w.ReadFile(c.path, 100)
		if string(got) != c.text || !errors.Is(err, c.err) {
			t.Errorf("read %q: %q, %v; want %q, %v", c.path, got, err, c.text, c.err)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Path != c.path || e.Reason == "" || e.Fix == "" || e.Op == "") {
			t.Errorf("read %q: %#v: an Error with the path as written, a reason and a way on is wanted", c.path, err)
		}
		if err != nil && !strings.HasPrefix(c.path, "/") && strings.Contains(err.Error(), base) {
			t.Errorf("read %q: %v tells where the workspace is", c.path, err)
		}
	}
}

func TestReadFileLimit(t *testing.T) {
	w := mustOpen(t, tree(t, map[string]string{"ten": "0123456789"}))
	if b, err := w.ReadFile("ten", 10); err != nil || len(b) != 10 {
		t.Errorf("10 of 10 bytes: %q, %v", b, err)
	}
	if b, err := w.ReadFile("ten", 9); !errors.Is(err, ErrTooLarge) || b != nil {
		t.Errorf("10 of 9 bytes: %q, %v", b, err)
	}
}

// A search meets databases and disk images; what is refused for its size costs nothing.
func TestTooLargeFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "image"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "image"), 1<<30); err != nil { // without blocks on the disk
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := w.ReadFile("image", 0)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes were taken to refuse it", took)
	}
}

func TestStatAndReadDir(t *testing.T) {
	w := mustOpen(t, tree(t, map[string]string{"d/a": "12345", "d/b -> a": "", "l -> d": "", "out -> /etc": ""}))
	if st, err := w.Stat("d/b"); err != nil || st.Size() != 5 {
		t.Errorf("Stat follows links: %v, %v", st, err)
	}
	if _, err := w.Stat("out"); !errors.Is(err, ErrEscape) {
		t.Error(err)
	}
	entries, err := w.ReadDir("l")
	if err != nil || len(entries) != 2 || entries[0].Name() != "a" || entries[1].Type() != os.ModeSymlink {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := w.ReadDir("d/a"); !errors.Is(err, ErrNotDir) {
		t.Error(err)
	}
	if _, err := w.ReadDir("out"); !errors.Is(err, ErrEscape) {
		t.Error(err)
	}
}

func TestResolve(t *testing.T) {
	w := mustOpen(t, tree(t, map[string]string{"d/e/f": "", "l -> d/e": "", "m -> l/new": "", "up -> d/../d": ""}))
	for name, want := range map[string]string{
		".": ".", "l": "d/e", "l/f": "d/e/f", "l/new/x": "d/e/new/x", "m": "d/e/new", "up/e": "d/e", "d/x/../e": "d/e",
	} {
		if got, err := w.Resolve(name); got != want || err != nil {
			t.Errorf("Resolve(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	if got, err := w.Clean(w.Dir() + "/l/../l/f"); got != "l/f" || err != nil {
		t.Errorf("Clean gives %q, %v: it asks no disk", got, err)
	}
}

// The cost of a lookup grows with the square of the depth: a path of 40 KB from a model kept a call busy for a minute.
func TestLongPathsAreRefusedAtOnce(t *testing.T) {
	const deep = 300
	dir := tree(t, map[string]string{"a": "text"})
	w := mustOpen(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.MkdirAll(strings.Repeat("d/", deep), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := root.Symlink(strings.Repeat("d/", 200), "half"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, name string
		accepted  bool
	}{
		{"longer than the system takes, into nowhere", strings.Repeat("d/", 20_000) + "a", false},
		{"longer than the system takes, and to a file", strings.Repeat("d/../", 20_000) + "a", false},
		{"as long as it may be", strings.Repeat("./", (maxPath-1)/2) + "a", true},
		{"two bytes longer", strings.Repeat("./", (maxPath+1)/2) + "a", false},
		{"deeper than it may be", strings.Repeat("d/", maxDepth) + "d", false},
		{"as deep as it may be", strings.Repeat("d/", maxDepth-1) + "d", true},
		{"deeper by a link", "half/" + strings.Repeat("d/", 56), false},
		{"as deep as it may be by a link", "half/" + strings.Repeat("d/", 55), true},
	} {
		_, err := w.Stat(c.name)
		if c.accepted && err != nil || !c.accepted && !errors.Is(err, ErrInvalidPath) {
			t.Errorf("%s: %v", c.why, err)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: the error says %d bytes", c.why, len(err.Error()))
		}
	}
}
