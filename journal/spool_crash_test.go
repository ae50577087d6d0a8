package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/callgatetest"
	"github.com/callgate/callgate/journal"
)

// The suite names its sessions itself: hold all that it uses.
func TestExecutorOfHeldSessions(t *testing.T) {
	callgatetest.TestExecutor(t, func(t *testing.T) callgate.Executor {
		j := open(t, file(t), journal.Options{})
		for _, id := range []string{"s", "t", "s/1"} {
			if _, err := j.Begin(id, journal.About{}); err != nil {
				t.Fatal(err)
			}
		}
		return j.Executor(nil)
	})
}

// reader holds a session and dispatches turns of many reads and one once-only call,
// and says what became of each call once it knows, until it is killed.
func reader(dir string) int {
	j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	session := os.Getenv("JOURNAL_TEST_SESSION")
	if _, err := j.Begin(session, journal.About{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	g := newGate(nil, j.Executor(nil))
	g.do = effect(dir)
	calls := []callgate.Call{call("read", `{"n":0}`), call("read", `{"n":1}`), call("read", `{"n":2}`), call("read", `{"n":3}`)}
	var turn int
	fmt.Sscan(os.Getenv("JOURNAL_TEST_TURN"), &turn)
	for ; ; turn++ {
		list := calls
		if turn%5 == 0 {
			list = append(list[:4:4], call("once", `{}`))
		}
		var said strings.Builder
		for i, r := range g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: session, Number: turn, Calls: list}) {
			fmt.Fprintf(&said, "%s/%d/%d %s.\n", session, turn, i, r.Code)
		}
		if _, err := io.WriteString(os.Stdout, said.String()); err != nil {
			return 1
		}
	}
}

// Two processes, each with a session of its own in one file, are killed at random
// moments: every read that was answered has its row, with that answer, and a row that
// was answered stays as it was.
func TestKilledWhileHolding(t *testing.T) {
	kills := 20
	if os.Getenv("CI") != "" {
		kills = 100
	}
	if raced || testing.Short() {
		kills = 6
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	var mu sync.Mutex
	said := map[string]string{}
	var wg sync.WaitGroup
	for _, session := range []string{"a", "b"} {
		wg.Go(func() {
			next := 1
			for range kills / 2 {
				cmd := child(t, "reader", dir)
				// The last turns again: their calls are answered from the record, or in doubt.
				cmd.Env = append(cmd.Env, "JOURNAL_TEST_SESSION="+session, fmt.Sprint("JOURNAL_TEST_TURN=", max(1, next-3)))
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				goal, lines := 1+rand.IntN(400), 0
				for s := bufio.NewScanner(out); s.Scan(); {
					line, whole := strings.CutSuffix(s.Text(), ".")
					if !whole {
						continue // cut off by the kill
					}
					id, code, _ := strings.Cut(line, " ")
					var turn, index int
					fmt.Sscanf(strings.TrimPrefix(id, session), "/%d/%d", &turn, &index)
					mu.Lock()
					if before, ok := said[id]; ok && before != code && before != string(callgate.OutcomeUnknown) {
						t.Errorf("call %s was answered with %q, then with %q", id, before, code)
					}
					said[id] = code
					mu.Unlock()
					next = max(next, turn+1)
					if lines++; lines == goal {
						time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { cmd.Process.Kill() })
					}
				}
				cmd.Wait()
				if lines < goal {
					t.Errorf("a reader ended by itself after %d of %d answers", lines, goal)
				}
			}
		})
	}
	wg.Wait()

	j := open(t, path, journal.Options{})
	v, err := j.Verify(context.Background(), journal.Head{})
	if err != nil || v.Open != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	recorded := map[string]callgate.Code{}
	for _, session := range []string{"a", "b"} {
		for rec, err := range j.Calls(context.Background(), session) {
			if err != nil || !rec.Settled {
				t.Errorf("call %s is open: %v", rec.Identity, err)
			}
			recorded[rec.Identity.String()] = rec.Code // of the last run
		}
	}
	for id, code := range said {
		if got, ok := recorded[id]; !ok || string(got) != code {
			t.Errorf("call %s was answered with %q and is recorded as %q (%t)", id, code, got, ok)
		}
	}
	if files, err := filepath.Glob(path + "-owner-*"); err != nil || len(files) != 1 {
		t.Errorf("files of owners, who are dead but for one: %v, %v", files, err)
	}
	t.Logf("%d kills, %d rows, %d calls answered", kills, v.Head.Rows, len(said))
}
