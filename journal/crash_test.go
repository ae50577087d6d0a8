package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// The test binary is also the process that is killed.
func TestMain(m *testing.M) {
	switch dir := os.Getenv("JOURNAL_TEST_DIR"); os.Getenv("JOURNAL_TEST_ROLE") {
	case "worker":
		os.Exit(worker(dir))
	case "reader":
		os.Exit(reader(dir))
	case "holder":
		os.Exit(holder(dir))
	case "importer":
		os.Exit(importer(dir))
	case "keeper":
		os.Exit(keeper(dir))
	}
	os.Exit(m.Run())
}

func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_ROLE="+role, "JOURNAL_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// effect appends the call's identity to the file of effects.
func effect(dir string) handler {
	f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	return func(_ context.Context, c callgate.Call, _ int) (callgate.Result, error) {
		if c.Name == "once" {
			if _, err := fmt.Fprintln(f, c.Identity); err != nil {
				return callgate.Result{}, err
			}
		}
		return callgate.Text("did " + c.Identity.String()), nil
	}
}

func crashTurn() []callgate.Call {
	return []callgate.Call{call("once", `{"n":0}`), call("once", `{"n":1}`), call("read", `{}`), call("again", `{}`)}
}

// worker dispatches one turn after another, and says what became of each call once
// it knows, until it is killed.
func worker(dir string) int {
	j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	g := newGate(nil, j.Executor(nil))
	g.do = effect(dir)
	var turn int
	fmt.Sscan(os.Getenv("JOURNAL_TEST_TURN"), &turn)
	for ; ; turn++ {
		var said strings.Builder
		for i, r := range g.submit(turn, crashTurn()...) {
			fmt.Fprintf(&said, "s/%d/%d %s.\n", turn, i, r.Code)
		}
		if _, err := io.WriteString(os.Stdout, said.String()); err != nil {
			return 1
		}
	}
}

// Two processes work on the same turns of one file and are killed at random
// moments: no once-only effect happens twice or without a claim, what was answered
// stays answered so, and the chain holds.
func TestKilled(t *testing.T) {
	kills := 30
	if os.Getenv("CI") != "" {
		kills = 200
	}
	if raced || testing.Short() { // a process takes seconds to start then
		kills = 10
	}
	dir := t.TempDir()
	var mu sync.Mutex
	said := map[string]string{} // what the processes said of a call
	next := 1                   // turn to go on with
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range kills / 2 {
				cmd := child(t, "worker", dir)
				mu.Lock()
				// The last turns again: their calls may be done, in doubt or unknown.
				cmd.Env = append(cmd.Env, fmt.Sprint("JOURNAL_TEST_TURN=", max(1, next-3)))
				mu.Unlock()
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				goal, lines := 1+rand.IntN(60), 0 // after so many answers
				for s := bufio.NewScanner(out); s.Scan(); {
					line, whole := strings.CutSuffix(s.Text(), ".")
					if !whole {
						continue // cut off by the kill
					}
					id, code, _ := strings.Cut(line, " ")
					var turn, index int
					fmt.Sscanf(id, "s/%d/%d", &turn, &index)
					mu.Lock()
					if before, ok := said[id]; ok && before != code && index < 2 {
						t.Errorf("call %s was answered with %q, then with %q", id, before, code)
					}
					said[id], next = code, max(next, turn+1)
					mu.Unlock()
					if lines++; lines == goal {
						time.AfterFunc(time.Duration(rand.IntN(4000))*time.Microsecond, func() { cmd.Process.Kill() })
					}
				}
				cmd.Wait()
				if lines < goal {
					t.Errorf("a worker ended by itself after %d of %d answers", lines, goal)
				}
			}
		})
	}
	wg.Wait()

	path := filepath.Join(dir, "journal.db")
	j := open(t, path, journal.Options{})
	v, err := j.Verify(context.Background(), journal.Head{})
	if err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	happened := map[string]int{}
	for id := range strings.FieldsSeq(string(text)) {
		happened[id]++
	}
	recorded, doubt, ran := map[string]callgate.Code{}, 0, 0
	for rec, err := range j.Calls(context.Background(), "s") {
		id := rec.Identity.String()
		if err != nil || !rec.Settled {
			t.Errorf("call %s is still open: %v", id, err)
		}
		recorded[id] = rec.Code
		if rec.Tool != "once" {
			continue
		}
		switch {
		case rec.Code == "" && happened[id] != 1:
			t.Errorf("call %s is recorded as done, and happened %d times", id, happened[id])
		case rec.Code == callgate.OutcomeUnknown:
			doubt++
			ran += happened[id]
		}
	}
	for id, n := range happened {
		if _, ok := recorded[id]; n != 1 || !ok {
			t.Errorf("call %s happened %d times; has a claim: %t", id, n, ok)
		}
	}
	for id, code := range said {
		if got, ok := recorded[id]; !ok || string(got) != code {
			t.Errorf("call %s was answered with %q and is recorded as %q (%t)", id, code, got, ok)
		}
	}
	if n, err := j.Recover(context.Background()); n != 0 || err != nil {
		t.Errorf("recovered again: %d calls, %v", n, err)
	}
	if again, err := j.Verify(context.Background(), v.Head); err != nil || again != v {
		t.Errorf("the head moved: %v", err)
	}
	files, err := filepath.Glob(path + "-owner-*")
	if err != nil || len(files) != 1 {
		t.Errorf("files of owners, who are dead but for one: %v, %v", files, err)
	}
	t.Logf("%d kills, %d rows, %d once-only effects, %d once-only calls in doubt, of which %d had run", kills, v.Head.Rows, len(happened), doubt, ran)
}

// holder runs one call that waits for a file "go".
func holder(dir string) int {
	j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	g := newGate(nil, j.Executor(nil))
	do := effect(dir)
	g.do = func(ctx context.Context, c callgate.Call, run int) (callgate.Result, error) {
		r, err := do(ctx, c, run)
		fmt.Println("running")
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "go")); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		return r, err
	}
	g.submit(1, call("once", `{}`))
	j.Close()
	return 0
}

// keeper holds the session "s" until it is killed.
func keeper(dir string) int {
	j, err := journal.Open(filepath.Join(dir, "journal.db"), journal.Options{})
	if err == nil {
		_, err = j.Begin("s", journal.About{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("held")
	select {}
}

// hold starts a process and returns when its call runs.
func hold(t *testing.T, dir string) *exec.Cmd { return start(t, "holder", dir) }

// start starts a process and returns when it has said that it is so far.
func start(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := child(t, role, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the %s said %q, %v", role, line, err)
	}
	return cmd
}

// A call that runs in another process is waited for, and its result is the answer.
func TestAnotherProcessRunsIt(t *testing.T) {
	dir := t.TempDir()
	cmd := hold(t, dir)
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{}) // does not take it for a dead one's
	g := newGate(t, j.Executor(nil))
	want(t, g.submit(1, call("once", `{"other":1}`))[0], callgate.Conflict, callgate.NotStarted, "submitted before")
	answer := make(chan callgate.Result, 1)
	go func() { answer <- g.submit(1, call("once", `{}`))[0] }()
	select {
	case r := <-answer:
		t.Fatalf("answered while it runs elsewhere: %q", r)
	case <-time.After(100 * time.Millisecond):
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; !r.Recorded || r.ContentText() != "did s/1/0" || g.runs.Load() != 0 {
		t.Errorf("got %+v after %d runs here", r, g.runs.Load())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	verify(t, j, 2)
}

// The wait has an end, which is no answer and starts nothing; and so has the turn.
func TestAnotherProcessRunsItForLong(t *testing.T) {
	dir := t.TempDir()
	hold(t, dir)
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{Wait: 2 * time.Second})
	g := newGate(t, j.Executor(nil))
	want(t, g.submit(1, call("once", `{}`))[0], callgate.OutcomeUnknown, callgate.Unknown, "runs in another process")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	want(t, g.Dispatch(ctx, g.cat, callgate.Turn{Session: "s", Number: 1, Calls: []callgate.Call{call("once", `{}`)}})[0], callgate.Canceled, callgate.Unknown, "verify")
	if g.runs.Load() != 0 {
		t.Error("it ran here too")
	}
}

// The process that runs a call dies while another waits for it: in doubt, at once,
// and for good.
func TestAnotherProcessDies(t *testing.T) {
	dir := t.TempDir()
	cmd := hold(t, dir)
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
	g := newGate(t, j.Executor(nil))
	answer := make(chan callgate.Result, 1)
	go func() { answer <- g.submit(1, call("once", `{}`))[0] }()
	time.Sleep(20 * time.Millisecond)
	cmd.Process.Kill()
	want(t, <-answer, callgate.OutcomeUnknown, callgate.Unknown, "verify its effect")
	want(t, g.submit(1, call("once", `{}`))[0], callgate.OutcomeUnknown, callgate.Unknown, "verify its effect")
	if text, err := os.ReadFile(filepath.Join(dir, "effects")); err != nil || string(text) != "s/1/0\n" || g.runs.Load() != 0 {
		t.Errorf("effects %q, %v, and %d runs here; want the one of the dead process", text, err, g.runs.Load())
	}
	verify(t, j, 2)
	var tools []string
	for rec, err := range j.Calls(context.Background(), "s") {
		if err != nil || !rec.Started.IsZero() || rec.Ended.IsZero() {
			t.Errorf("%+v, %v", rec, err)
		}
		tools = append(tools, rec.Tool)
	}
	if !slices.Equal(tools, []string{"once"}) {
		t.Errorf("rows of %q", tools)
	}
}
