package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/journal/transfer"
)

// An import that cannot be written, from the first row or after some, leaves nothing,
// and goes well when the journal can be written again.
func TestImportIsAllOrNothing(t *testing.T) {
	ctx := context.Background()
	var file bytes.Buffer
	store, err := artifact.Open(t.TempDir(), artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	from := newRig(t, Options{Artifacts: store}, nil)
	a, err := store.Put(ctx, strings.NewReader("whole"))
	if err != nil {
		t.Fatal(err)
	}
	for turn := range 20 {
		from.submit(turn, 8, "read")
	}
	from.exec(t, `UPDATE calls SET artifact = '`+a.ID+`', result = CAST(replace(CAST(result AS TEXT), '"artifact":""', '"artifact":"`+a.Ref()+`"') AS BLOB), artifact_sum = x'`+fmt.Sprintf("%x", a.SHA256)+`' WHERE turn = 19`)
	if err := from.Export(ctx, "s", &file, ExportOptions{Artifacts: true}); err != nil {
		t.Fatal(err)
	}
	faults := maps.Clone(faults)
	faults["full after some rows"] = faults["full disk"]
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			into, err := artifact.Open(t.TempDir(), artifact.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer into.Close()
			g := newRig(t, Options{BusyTimeout: 20 * time.Millisecond, Artifacts: into}, nil)
			mend := func() { g.exec(t, `PRAGMA max_page_count = 1000000`) }
			if name == "full after some rows" {
				pages := 0
				if err := g.read.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
					t.Fatal(err)
				}
				g.exec(t, `PRAGMA max_page_count = `+fmt.Sprint(pages+20))
			} else {
				mend = f.make(t, g)
			}
			before := countAll(t, g)
			if _, err := g.Import(ctx, bytes.NewReader(file.Bytes()), ""); err == nil || !strings.Contains(err.Error(), f.says) {
				t.Errorf("%v, want %q", err, f.says)
			}
			if after := countAll(t, g); after != before {
				t.Errorf("%v rows, want %v", after, before)
			}
			if list, err := into.List(); len(list) > 0 || err != nil {
				t.Errorf("outputs: %v, %v", list, err)
			}
			if left, _ := filepath.Glob(g.path + "-import-*"); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			mend()
			if _, err := g.Import(ctx, bytes.NewReader(file.Bytes()), ""); err != nil {
				t.Error(err)
			}
			if list, _ := into.List(); len(list) != 1 {
				t.Errorf("outputs: %v", list)
			}
			if v, err := g.Verify(ctx); err != nil || v.Calls != 160 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// countAll counts the rows of all tables.
func countAll(t *testing.T, g *rig) (n int) {
	t.Helper()
	if err := g.read.QueryRow(`SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM turns) + (SELECT count(*) FROM calls) + (SELECT count(*) FROM approvals) + (SELECT count(*) FROM chain)`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A change of the writer may be made twice, when another one that shares its
// transaction fails.
func TestImportBesideAFailure(t *testing.T) {
	ctx := context.Background()
	from := newRig(t, Options{}, nil)
	from.submit(1, 3, "once")
	var file bytes.Buffer
	if err := from.Export(ctx, "s", &file, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, Options{}, nil)
	copied := copyOf(t, file.Bytes())
	i := &importer{j: g.Journal, ctx: ctx}
	fails := errors.New("no")
	batch := []*change{
		{do: func(w *writer) error { return i.write(w, copied) }, durable: true, done: make(chan struct{})},
		{do: func(*writer) error { return fails }, done: make(chan struct{})},
	}
	g.write.hand(&change{alone: true, do: func(w *writer) error { w.commit(batch); return nil }})
	if batch[0].err != nil || batch[1].err != fails {
		t.Errorf("%v, %v", batch[0].err, batch[1].err)
	}
	if v, err := g.Verify(ctx); err != nil || v.Calls != 3 {
		t.Errorf("%+v, %v", v, err)
	}
}

// What is written within the transaction is checked again: the copy of a file may be
// changed between the two looks.
func TestImportLooksTwice(t *testing.T) {
	ctx := context.Background()
	from := newRig(t, Options{}, nil)
	from.submit(1, 3, "once")
	var file bytes.Buffer
	if err := from.Export(ctx, "s", &file, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, Options{}, nil)
	copied := copyOf(t, bytes.Replace(file.Bytes(), []byte(`"attempts":1`), []byte(`"attempts":2`), 1))
	i := &importer{j: g.Journal, ctx: ctx}
	if err := g.write.do(true, func(w *writer) error { return i.write(w, copied) }); err == nil || !strings.Contains(err.Error(), "the file was changed") {
		t.Error(err)
	}
	if n := countAll(t, g); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// A name may be taken between the two looks as well.
func TestImportOfANameTakenMeanwhile(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, Options{}, nil)
	g.submit(1, 3, "once")
	var file bytes.Buffer
	if err := g.Export(ctx, "s", &file, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	copied := copyOf(t, file.Bytes())
	i := &importer{j: g.Journal, ctx: ctx}
	if err := g.write.do(true, func(w *writer) error { return i.write(w, copied) }); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
}

// The formats of the package and of the journal name the same limit of forks.
func TestForksOfAFile(t *testing.T) {
	if transfer.MaxSessions != maxForks+1 {
		t.Errorf("a file has %d sessions, a line of forks %d", transfer.MaxSessions, maxForks+1)
	}
}

// copyOf returns a file that holds data.
func copyOf(t *testing.T, data []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f
}
