//go:build unix

package journal_test

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// A disk stands between SQLite and the files of one directory. It writes down what
// SQLite does to them, in order and together with what happens outside of the
// files, and can fail each operation. What it does not see is the -shm file, which
// SQLite makes anew after a crash.
type disk struct {
	dir         string
	checkpoints int // pages in the log before it is emptied; 0 is SQLite's own figure

	mu     sync.Mutex
	events []event
	forget bool // files are not recorded, notes are
	lies   bool // a sync is reported as done and does nothing
	drops  bool // what a sync failed to write is never written, as many kernels do it
	live   map[string]int
	files  int                   // that there have been
	fault  func(op string) int32 // says how the operation fails; 0 if it does not
}

// An event is an operation on a file, or a note of what happened outside.
type event struct {
	Op   string // create, delete, write, truncate, sync, dropped, syncdir; effect, answer, head
	File int    // a file keeps its number when its name goes to another
	Name string
	At   int64 // offset or size
	Data []byte

	ID     callgate.Identity
	Tool   string
	Answer answer
	Head   journal.Head
}

// An answer is what is compared of a result.
type answer struct {
	Code  callgate.Code
	State callgate.State
	Text  string
}

func answerOf(r callgate.Result) answer { return answer{r.Code, r.State, r.ModelText()} }

// repeats reports whether a is the answer that was given before. One in doubt may
// not have been recorded, and then says something else of why.
func (a answer) repeats(before answer) bool {
	if a.Code == callgate.OutcomeUnknown {
		a.Text = before.Text
	}
	return a == before
}

func (e *event) note() bool { return e.Op == "effect" || e.Op == "answer" || e.Op == "head" }

// newDisk watches a directory that has no files yet, or the files that the disk
// already knows.
func newDisk(t testing.TB, dir string, d *disk) *disk {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir) // as SQLite does
	if err != nil {
		t.Fatal(err)
	}
	d.dir = real
	if d.live == nil {
		d.live = map[string]int{}
	}
	watched.Lock()
	defer watched.Unlock()
	watched.disks[real] = d
	return d
}

// unplug ends the watch.
func (d *disk) unplug() {
	watched.Lock()
	defer watched.Unlock()
	delete(watched.disks, d.dir)
}

func (d *disk) note(e event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// add appends an operation on a file.
func (d *disk) add(e event) {
	if !d.forget {
		d.events = append(d.events, e)
	}
}

func (d *disk) failure(op string) int32 {
	if d.fault == nil {
		return 0
	}
	return d.fault(op)
}

func (d *disk) opened(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok := d.live[name]; ok {
		return n
	}
	n := d.files
	d.files++
	d.live[name] = n
	d.add(event{Op: "create", File: n, Name: name})
	return n
}

// A handle is an open file of a disk.
type handle struct {
	*disk
	file    int
	syncdir bool // the first sync is also one of the directory
	real    *sqlite3.Tsqlite3_io_methods
}

// SQLite's own virtual file system, and the one that stands before it. It is the
// default one of the test binary, and leaves alone what is on no disk.
var (
	realVFS *sqlite3.Tsqlite3_vfs
	testVFS *sqlite3.Tsqlite3_vfs

	watched = struct {
		sync.RWMutex
		disks   map[string]*disk   // by directory
		handles map[uintptr]handle // by sqlite3_file
		methods map[uintptr]*sqlite3.Tsqlite3_io_methods
	}{disks: map[string]*disk{}, handles: map[uintptr]handle{}, methods: map[uintptr]*sqlite3.Tsqlite3_io_methods{}}

	_ = register() // before any file is opened
)

func register() (ok bool) {
	tls := libc.NewTLS()
	defer tls.Close()
	realVFS = at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	testVFS = foreign(tls, *realVFS)
	name, err := libc.CString("callgate-test")
	if err != nil {
		panic(err)
	}
	testVFS.FzName, testVFS.FpNext = name, 0
	testVFS.FxOpen, testVFS.FxDelete = pointer(vfsOpen), pointer(vfsDelete)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(testVFS)), 1); rc != sqlite3.SQLITE_OK {
		panic(fmt.Sprint("sqlite3_vfs_register: ", rc))
	}
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, dsn string) error {
		u, err := url.Parse(dsn)
		if err != nil {
			return nil
		}
		if d := diskOf(u.Path); d != nil && d.checkpoints > 0 {
			_, err = c.ExecContext(context.Background(), fmt.Sprintf(`PRAGMA wal_autocheckpoint = %d`, d.checkpoints), nil)
		}
		return err
	})
	return true
}

// SQLite is C that was translated: pointers are numbers, and a function is the
// address of a Go func value. Only functions of the package are passed, which are
// never moved or collected.
func pointer[F any](f F) uintptr        { return *(*uintptr)(unsafe.Pointer(&f)) }
func function[F any](p uintptr) F       { return *(*F)(unsafe.Pointer(&p)) }
func at[T any](p uintptr) *T            { return *(**T)(unsafe.Pointer(&p)) }
func bytesAt(p uintptr, n int32) []byte { return unsafe.Slice(at[byte](p), n) }

// foreign returns a copy of v outside of Go's memory, for good.
func foreign[T any](tls *libc.TLS, v T) *T {
	p := at[T](libc.Xcalloc(tls, 1, types.Size_t(unsafe.Sizeof(v))))
	*p = v
	return p
}

type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	writeFunc    = func(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
)

// diskOf returns the disk of the file path, nil if there is none.
func diskOf(path string) *disk {
	watched.RLock()
	defer watched.RUnlock()
	return watched.disks[filepath.Dir(path)]
}

func handleOf(file uintptr) handle {
	watched.RLock()
	defer watched.RUnlock()
	return watched.handles[file]
}

func vfsOpen(tls *libc.TLS, _, name, file uintptr, flags int32, outFlags uintptr) int32 {
	rc := function[openFunc](realVFS.FxOpen)(tls, uintptr(unsafe.Pointer(realVFS)), name, file, flags, outFlags)
	if rc != sqlite3.SQLITE_OK || name == 0 { // it failed, or is a temporary file
		return rc
	}
	path := libc.GoString(name)
	d := diskOf(path)
	if d == nil {
		return rc
	}
	h := handle{disk: d, file: d.opened(filepath.Base(path)), syncdir: flags&(sqlite3.SQLITE_OPEN_WAL|sqlite3.SQLITE_OPEN_MAIN_JOURNAL) != 0}
	watched.Lock()
	defer watched.Unlock()
	f := at[sqlite3.Tsqlite3_file](file)
	ours := watched.methods[f.FpMethods]
	if ours == nil {
		ours = foreign(tls, *at[sqlite3.Tsqlite3_io_methods](f.FpMethods))
		ours.FxClose, ours.FxWrite, ours.FxTruncate, ours.FxSync = pointer(fileClose), pointer(fileWrite), pointer(fileTruncate), pointer(fileSync)
		watched.methods[f.FpMethods] = ours
	}
	h.real = at[sqlite3.Tsqlite3_io_methods](f.FpMethods)
	watched.handles[file] = h
	f.FpMethods = uintptr(unsafe.Pointer(ours))
	return rc
}

func vfsDelete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	path := libc.GoString(name)
	del := func(syncDir int32) int32 {
		return function[deleteFunc](realVFS.FxDelete)(tls, uintptr(unsafe.Pointer(realVFS)), name, syncDir)
	}
	d := diskOf(path)
	if d == nil {
		return del(syncDir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if rc := d.failure("delete"); rc != 0 {
		return rc
	}
	rc := del(0)
	if base := filepath.Base(path); rc == sqlite3.SQLITE_OK {
		d.add(event{Op: "delete", File: d.live[base], Name: base})
		delete(d.live, base)
		if syncDir != 0 && !d.lies {
			d.add(event{Op: "syncdir"})
		}
	}
	return rc
}

func fileClose(tls *libc.TLS, file uintptr) int32 {
	h := handleOf(file)
	watched.Lock()
	delete(watched.handles, file)
	watched.Unlock()
	return function[closeFunc](h.real.FxClose)(tls, file)
}

// fileWrite writes. One that fails may have written half of it, as a full disk does.
func fileWrite(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	h := handleOf(file)
	h.mu.Lock()
	defer h.mu.Unlock()
	failure := h.failure("write")
	if failure != 0 {
		n /= 2
	}
	rc := function[writeFunc](h.real.FxWrite)(tls, file, buf, n, offset)
	if rc == sqlite3.SQLITE_OK {
		e := event{Op: "write", File: h.file, At: offset}
		if !h.forget {
			e.Data = append(e.Data, bytesAt(buf, n)...)
		}
		h.add(e)
	}
	if failure != 0 {
		return failure
	}
	return rc
}

func fileTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	h := handleOf(file)
	h.mu.Lock()
	defer h.mu.Unlock()
	if rc := h.failure("truncate"); rc != 0 {
		return rc
	}
	rc := function[truncateFunc](h.real.FxTruncate)(tls, file, size)
	if rc == sqlite3.SQLITE_OK {
		h.add(event{Op: "truncate", File: h.file, At: size})
	}
	return rc
}

// fileSync does not trouble the real disk: no test cuts its power.
func fileSync(_ *libc.TLS, file uintptr, _ int32) int32 {
	h := handleOf(file)
	h.mu.Lock()
	defer h.mu.Unlock()
	if rc := h.failure("sync"); rc != 0 {
		if h.drops {
			h.add(event{Op: "dropped", File: h.file})
		}
		return rc
	}
	if h.lies {
		return sqlite3.SQLITE_OK
	}
	h.add(event{Op: "sync", File: h.file})
	if h.syncdir {
		h.add(event{Op: "syncdir"})
		watched.Lock()
		h.syncdir = false
		watched.handles[file] = h
		watched.Unlock()
	}
	return sqlite3.SQLITE_OK
}
