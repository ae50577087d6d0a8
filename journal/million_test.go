package journal

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/callgate/callgate"
)

// JOURNAL_MILLION=1000000 fills a journal with so many calls, by the way that every call
// takes, and asks it: what is printed are times, which depend on the machine, and pages
// of the database that SQLite looked at, which do not. What fails is a query that looks
// at more than it needs for what was asked.
func TestMillion(t *testing.T) {
	total, err := strconv.Atoi(os.Getenv("JOURNAL_MILLION"))
	if err != nil || total <= 0 {
		t.Skip("JOURNAL_MILLION is not set to a number of calls")
	}
	const turns, calls = 125, 8 // of a session, of a turn
	sessions := max(1, total/(turns*calls))
	g := newRig(t, Options{}, nil)
	var r callgate.Registry
	var tools []string
	for i := range 16 {
		tools = append(tools, fmt.Sprintf("read_%d", i))
		if err := r.Register(callgate.Tool{
			Spec:    callgate.Spec{Name: tools[i], InputSchema: []byte(`{"type":"object"}`), Annotations: callgate.Annotations{ReadOnlyHint: true}},
			Handler: func(context.Context, callgate.Call) (callgate.Result, error) { return callgate.Text("done"), nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	g.cat = r.Catalog()

	start := time.Now()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 4 {
		wg.Go(func() {
			for n := range next {
				id := fmt.Sprintf("session-%06d", n)
				s, err := g.Begin(id, About{})
				if err != nil {
					t.Error(err)
					continue
				}
				for turn := range turns {
					list := make([]callgate.Call, calls)
					for i := range list {
						list[i] = callgate.Call{Name: tools[(n+turn+i)%len(tools)], Arguments: []byte(`{"path":"src/main.go"}`)}
					}
					for _, r := range g.gate.Dispatch(context.Background(), g.cat, callgate.Turn{Session: id, Number: turn, Calls: list}) {
						if r.Code != "" {
							t.Errorf("%q", r)
						}
					}
				}
				if err := s.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range sessions {
		next <- n
	}
	close(next)
	wg.Wait()
	if err := g.flush(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	if err := g.write.empty(context.Background(), time.Minute); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(g.path)
	if err != nil {
		t.Fatal(err)
	}
	rows := sessions * turns * calls
	t.Logf("%d calls of %d sessions in %v: %v each; %.0f MB", rows, sessions, took.Round(time.Millisecond), took/time.Duration(rows), float64(info.Size())/1e6)

	g.read.SetMaxOpenConns(1) // whose pages are counted
	ctx := context.Background()
	mid := fmt.Sprintf("session-%06d", sessions/2)
	page := func(rows func(func(Record, error) bool), n int) (got int) {
		rows(func(_ Record, err error) bool {
			if err != nil {
				t.Error(err)
			}
			got++
			return got < n
		})
		return got
	}
	// A row costs its place in the index and a walk down the table, which has at most
	// six levels; the way to the first one costs as much again.
	const walk = 8
	for _, q := range []struct {
		name string
		ask  func() int
		rows int // that the answer needs
		scan int // entries of an index beyond, of which a page has at least 20
	}{
		{"the first page of a session", func() int { return page(g.Calls(ctx, mid), pageSize) }, min(pageSize, rows), 0},
		{"all calls of a session", func() int { return page(g.Calls(ctx, mid), rows) }, turns * calls, 0},
		{"the first page of a tool", func() int { return page(g.Tool(ctx, tools[3]), pageSize) }, min(pageSize, rows/len(tools)), 0},
		{"the newest run of a call", func() int {
			r, err := g.latest(callgate.Identity{Session: mid, Turn: 60, Index: 3})
			if err != nil || r == nil {
				t.Errorf("%v, %v", r, err)
			}
			return 1
		}, 1, 0},
		{"a call that is not there", func() int {
			if r, err := g.latest(callgate.Identity{Session: mid, Turn: 60, Index: 300}); err != nil || r != nil {
				t.Errorf("%v, %v", r, err)
			}
			return 1
		}, 1, 0},
		{"the first page of sessions", func() (n int) {
			for _, err := range g.Sessions(ctx) {
				if err != nil {
					t.Error(err)
				}
				if n++; n == 64 {
					break
				}
			}
			return n
		}, min(64, sessions), min(64, sessions) * turns * calls},
		{"the head", func() int {
			if h, err := g.Head(ctx); err != nil || h.Rows != int64(rows+sessions) { // a session has a row of its own
				t.Errorf("%v, %v", h, err)
			}
			return 1
		}, 1, 0},
		{"what is open", func() int {
			if n, err := g.Recover(ctx); err != nil || n != 0 {
				t.Errorf("%d, %v", n, err)
			}
			return 1
		}, 1, 0},
	} {
		before, start := g.pagesRead(t), time.Now()
		got := q.ask()
		took, pages := time.Since(start), g.pagesRead(t)-before
		limit := (q.rows+1)*walk + q.rows*2 + q.scan/20
		t.Logf("%-28s %5d rows, %6d pages, %v", q.name, got, pages, took.Round(time.Microsecond))
		if got != q.rows || pages > limit {
			t.Errorf("%s: %d rows, want %d; %d pages, want at most %d", q.name, got, q.rows, pages, limit)
		}
	}
	start = time.Now()
	v, err := g.Verify(ctx)
	if err != nil || v.Calls != int64(rows) {
		t.Errorf("%+v, %v", v, err)
	}
	took = time.Since(start)
	t.Logf("%-28s %d rows, %v: %v each", "Verify", v.Head.Rows, took.Round(time.Millisecond), took/time.Duration(rows))
}

// pagesRead returns how many pages the reading connection has looked at, in its memory
// or not.
func (g *rig) pagesRead(t *testing.T) (n int) {
	t.Helper()
	c, err := g.read.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Raw(func(conn any) error {
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			have, _, err := conn.(sqlite.DBStatus).Status(op, false)
			if err != nil {
				return err
			}
			n += have
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// planOf returns the steps of SQLite's plan for a query.
func planOf(t *testing.T, db *sql.DB, query string) (plan []string) {
	t.Helper()
	rows, err := db.Query(`EXPLAIN QUERY PLAN `+query, slices.Repeat([]any{1}, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var step string
		if err := rows.Scan(&a, &b, &c, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	return plan
}

// The list of sessions and the look at the highest turn walk indexes too.
func TestSessionQueriesAreBounded(t *testing.T) {
	g := newRig(t, Options{}, nil)
	for name, q := range map[string]string{"sessions": sessionPage, "highest turn": newestTurn} {
		for _, step := range planOf(t, g.read, q) {
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "calls_open") || strings.Contains(step, "TEMP B-TREE") && !strings.Contains(step, "LAST TERM") { // of those of one moment
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}
