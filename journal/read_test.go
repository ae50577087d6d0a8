package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/journal"
)

func openToRead(t testing.TB, path string, opts journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.OpenToRead(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// A scene is what the files of a directory were: mode, time and bytes.
type scene map[string]string

func sceneOf(t *testing.T, dir string) scene {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := scene{}
	for _, e := range entries {
		st, err := os.Lstat(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		s[e.Name()] = fmt.Sprint(st.Mode(), st.ModTime().UnixNano())
		if st.Mode().IsRegular() {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			s[e.Name()] += fmt.Sprintf(" %d bytes %x", len(b), sha256.Sum256(b))
		}
	}
	return s
}

// same fails unless all is as it was, but for the index of the log, in which readers are
// noted, and an empty log.
func (s scene) same(t *testing.T, dir, after string) {
	t.Helper()
	now := sceneOf(t, dir)
	for name, was := range s {
		if is := now[name]; is != was && !strings.HasSuffix(name, "-shm") {
			t.Errorf("%s: %s was %s, and is %q", after, name, was, is)
		}
	}
	for name, is := range now {
		if s[name] == "" && !strings.HasSuffix(name, "-shm") && !(strings.HasSuffix(name, "-wal") && strings.Contains(is, " 0 bytes ")) {
			t.Errorf("%s: %s was made: %s", after, name, is)
		}
	}
}

// readings are all that can be asked of a journal. Those that fail say so.
func readings(j *journal.Journal, session string) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"head":    func() error { return second(j.Head(ctx)) },
		"verify":  func() error { return second(j.Verify(ctx)) },
		"audit":   func() error { return j.Audit(ctx, io.Discard) },
		"info":    func() error { return second(j.SessionInfo(ctx, session)) },
		"recover": func() error { return second(j.Recover(ctx)) },
		"dry":     func() error { return second(j.Collect(ctx, journal.Retention{Count: 1}, true)) },
		"export":  func() error { return j.Export(ctx, session, io.Discard, journal.ExportOptions{}) },
		"call":    func() error { return second(j.Call(ctx, callgate.Identity{Session: session, Turn: 1}, -1)) },
		"sessions": func() (err error) {
			for _, e := range j.Sessions(ctx) {
				err = errors.Join(err, e)
			}
			return err
		},
		"calls": func() (err error) {
			for _, e := range j.Calls(ctx, session) {
				err = errors.Join(err, e)
			}
			return err
		},
		"tool": func() (err error) {
			for _, e := range j.Tool(ctx, "once") {
				err = errors.Join(err, e)
			}
			return err
		},
		"turns": func() (err error) {
			for _, e := range j.Turns(ctx, session) {
				err = errors.Join(err, e)
			}
			return err
		},
		"approvals": func() (err error) {
			for _, e := range j.Approvals(ctx, session) {
				err = errors.Join(err, e)
			}
			return err
		},
	}
}

// copyOf copies the files of a journal but for the index of its log to another
// directory, and lets others read the database.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := file(t)
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "-shm") {
			continue
		}
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(to+strings.TrimPrefix(name, path), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(to, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// Whatever is read of whatever journal, its files stay as they are: of one that is
// closed, beside a process that lives, after one that was killed in a call, and of
// copies that were taken of those, with their logs.
func TestReadingChangesNothing(t *testing.T) {
	closed, _ := everyKind(t)
	dir := t.TempDir()
	cmd := hold(t, dir)
	living := filepath.Join(dir, "journal.db")
	livingCopy := copyOf(t, living)
	dir = t.TempDir()
	dead := hold(t, dir)
	dead.Process.Kill()
	dead.Wait()
	killed := filepath.Join(dir, "journal.db")
	for name, c := range map[string]struct {
		path string
		open int64
		keep string // a file that must be there: the test would prove nothing without
	}{
		"closed":              {closed, 0, ""},
		"closed, a copy":      {copyOf(t, closed), 0, ""},
		"living":              {living, 1, "-owner-*"},
		"living, a copy":      {livingCopy, 1, "-wal"},
		"killed, with owner":  {killed, 1, "-owner-*"},
		"killed, copied, too": {copyOf(t, killed), 1, "-wal"},
	} {
		if found, err := filepath.Glob(c.path + c.keep); err != nil || len(found) == 0 {
			t.Fatalf("%s: there is no %s", name, c.keep)
		}
		dir := filepath.Dir(c.path)
		before := sceneOf(t, dir)
		j := openToRead(t, c.path, journal.Options{})
		before.same(t, dir, name+", open")
		if i := info(t, j, "s"); i.Calls != 1 || i.Open != c.open {
			t.Errorf("%s: %+v", name, i)
		}
		for what, read := range readings(j, "s") {
			err := read()
			if refused := what == "export" && c.open > 0; (err != nil) != refused || refused && !strings.Contains(err.Error(), "1 of its calls are open") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			before.same(t, dir, name+", "+what)
		}
		if err := j.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		before.same(t, dir, name+", closed")
	}
	// Nothing was taken from those who recover later.
	for _, path := range []string{killed, livingCopy} {
		j := open(t, path, journal.Options{})
		if i := info(t, j, "s"); i.Open != 0 {
			t.Errorf("after the recovery: %+v", i)
		}
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(living), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Who holds a session is seen, and not disturbed.
func TestInUseToRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	cmd := start(t, "keeper", dir)
	j := openToRead(t, path, journal.Options{})
	if !info(t, j, "s").InUse {
		t.Error("the session of a living process is not in use")
	}
	cmd.Process.Kill()
	cmd.Wait()
	before := sceneOf(t, dir)
	if info(t, j, "s").InUse {
		t.Error("the session of a dead process is in use")
	}
	before.same(t, dir, "in use")
}

// Whatever has to write says that it cannot, before anything has happened.
func TestReadOnlyRefuses(t *testing.T) {
	path, _ := everyKind(t)
	var exported bytes.Buffer
	w := open(t, path, journal.Options{})
	if err := w.Export(context.Background(), "s", &exported, journal.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	store, err := artifact.Open(t.TempDir(), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j := openToRead(t, path, journal.Options{Artifacts: store})
	before := sceneOf(t, filepath.Dir(path))
	ctx := context.Background()
	in := bytes.NewReader(exported.Bytes())
	for what, err := range map[string]error{
		"begin":   second(j.Begin("new", journal.About{})),
		"resume":  second(j.Resume("s")),
		"remove":  j.Remove(ctx, "s", ""),
		"collect": second(j.Collect(ctx, journal.Retention{Age: time.Nanosecond}, false)),
		"import":  second(j.Import(ctx, in, "new")),
	} {
		if !errors.Is(err, journal.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if in.Len() != exported.Len() {
		t.Error("the import was begun")
	}
	asked := false
	g := newGate(t, j.Executor(nil))
	g.Approver = j.Approver(func(context.Context, callgate.Request, callgate.Decision) (callgate.Answer, error) {
		asked = true
		return callgate.Answer{Approved: true}, nil
	})
	g.Observers = []callgate.Observer{j.Observer()}
	for _, tool := range []string{"once", "again", "read"} {
		want(t, g.submit(7, call(tool, `{}`))[0], callgate.Internal, callgate.NotStarted, "the journal was opened to read")
	}
	g.submit(8, call("nothing", `{}`)) // which the observer would record
	want(t, g.submit(1, call("once", `{"n":1}`))[0], callgate.Conflict, callgate.NotStarted, "submitted before")
	if r := g.submit(1, call("once", `{}`))[0]; !r.Recorded {
		t.Errorf("it is not answered from the record: %+v", r)
	}
	g.Policy = func(context.Context, callgate.Request) (callgate.Decision, error) {
		return callgate.Decision{Verdict: callgate.Ask}, nil
	}
	g.submit(9, call("once", `{}`))
	if asked || g.runs.Load() != 0 {
		t.Errorf("somebody was asked: %t; %d handlers ran", asked, g.runs.Load())
	}
	before.same(t, filepath.Dir(path), "refusals")
}

// An open call of a dead process is nobody's to settle here.
func TestReadOnlyLeavesTheDead(t *testing.T) {
	dir := t.TempDir()
	cmd := hold(t, dir)
	cmd.Process.Kill()
	cmd.Wait()
	j := openToRead(t, filepath.Join(dir, "journal.db"), journal.Options{})
	before := sceneOf(t, dir)
	g := newGate(t, j.Executor(nil))
	want(t, g.submit(1, call("once", `{}`))[0], callgate.Internal, callgate.NotStarted, "the journal was opened to read")
	before.same(t, dir, "a repetition")
}

// Where SQLite can make no file, what has no log is read, and nothing is made; a log
// that cannot be read is an error, and so is one that comes later.
func TestReadWhereNothingCanBeMade(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SQLite follows links there, and directories have no modes")
	}
	hinder := map[string]func(t *testing.T, path string){
		// SQLite does not follow it.
		"a link in the way": func(t *testing.T, path string) {
			if err := os.Symlink("nowhere", path+"-shm"); err != nil {
				t.Fatal(err)
			}
		},
	}
	if os.Getuid() != 0 { // whom no mode stops
		hinder["a directory that is read-only"] = func(t *testing.T, path string) {
			if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(filepath.Dir(path), 0o700) })
		}
	}
	for name, hinder := range hinder {
		t.Run(name, func(t *testing.T) {
			path, head := everyKind(t)
			dir := filepath.Dir(path)
			hinder(t, path)
			before := sceneOf(t, dir)
			j := openToRead(t, path, journal.Options{})
			for what, read := range readings(j, "s") {
				if err := read(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got, err := j.Head(context.Background()); err != nil || got != head {
				t.Errorf("head %v, %v; want %v", got, err, head)
			}
			before.same(t, dir, "all")
			os.Chmod(dir, 0o700)
			if err := os.WriteFile(path+"-wal", []byte("something"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := j.Head(context.Background()); err == nil || !strings.Contains(err.Error(), "begun to write") {
				t.Errorf("a log that came later: %v", err)
			}
		})
		t.Run(name+", and a log", func(t *testing.T) {
			dir := t.TempDir()
			hold(t, dir)
			path := copyOf(t, filepath.Join(dir, "journal.db"))
			hinder(t, path)
			if _, err := journal.OpenToRead(path, journal.Options{}); err == nil || !strings.Contains(err.Error(), "its log (-wal) cannot be read") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A log that is there and cannot be read is not passed over.
func TestUnreadableLog(t *testing.T) {
	path, _ := everyKind(t)
	if err := os.Mkdir(path+"-wal", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.OpenToRead(path, journal.Options{}); err == nil || !strings.Contains(err.Error(), "without which the newest rows are missing") {
		t.Errorf("a directory in its place: %v", err)
	}
	os.Remove(path + "-wal")
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		return // whom no mode stops
	}
	if err := os.WriteFile(path+"-wal", []byte("something"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.OpenToRead(path, journal.Options{}); err == nil || !strings.Contains(err.Error(), "without which the newest rows are missing") || !errors.Is(err, os.ErrPermission) {
		t.Errorf("one that must not be read: %v", err)
	}
}

// What is no journal of this version is left alone, and said to be none.
func TestOpenToReadForeignFiles(t *testing.T) {
	whole, _ := everyKind(t)
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	query := func(q string) func(path string) error {
		return func(path string) error {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(q)
				err = errors.Join(err, db.Close())
			}
			return err
		}
	}
	write := func(b []byte) func(path string) error {
		return func(path string) error { return os.WriteFile(path, b, 0o644) }
	}
	for name, c := range map[string]struct {
		make func(path string) error
		says string
	}{
		"missing":          {func(string) error { return nil }, "no such file"},
		"a directory":      {func(path string) error { return os.Mkdir(path, 0o755) }, "a directory"},
		"empty":            {write(nil), "it is empty"},
		"text":             {write([]byte("hello")), "not a database"},
		"cut in the head":  {write(data[:50]), "database"},
		"cut in the pages": {write(data[:5000]), "malformed"},
		"another's":        {query(`CREATE TABLE things(x)`), "another program's"},
		"another's mark":   {query(`PRAGMA application_id = 7`), "another program's"},
		"a newer format":   {query(`PRAGMA user_version = 9`), "format 9, from a newer version"},
		"no format":        {query(`PRAGMA user_version = -1`), "format -1"},
	} {
		path := file(t)
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		before := sceneOf(t, dir)
		j, err := journal.OpenToRead(path, journal.Options{})
		if err == nil {
			j.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		before.same(t, dir, name)
	}
}
