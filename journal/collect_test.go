package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/artifact"
	"github.com/callgate/callgate/journal"
)

// collected says what Collect did, in its order: a session that went, or the reason
// why it stayed.
func collected(t testing.TB, j *journal.Journal, keep journal.Retention, dry bool) string {
	t.Helper()
	done, err := j.Collect(context.Background(), keep, dry)
	if err != nil {
		t.Errorf("collect: %v", err)
	}
	var said []string
	for _, c := range done {
		what := c.Session
		if c.Artifact != "" {
			what = "an artifact"
		}
		switch {
		case c.Err == nil:
		case errors.Is(c.Err, journal.ErrForked):
			what += " (forked)"
		case errors.Is(c.Err, journal.ErrInUse):
			what += " (in use)"
		case strings.Contains(c.Err.Error(), "calls of it are running"):
			what += " (runs)"
		default:
			t.Errorf("%s: %v", what, c.Err)
		}
		said = append(said, what)
	}
	return strings.Join(said, ", ")
}

func names(t testing.TB, j *journal.Journal) string {
	t.Helper()
	var ids []string
	for i, err := range j.Sessions(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i.ID)
	}
	return strings.Join(ids, " ")
}

// The sessions are named "name age-in-hours parent", the age being that of the newest
// turn; those with a star are held by a living process.
func TestCollect(t *testing.T) {
	hours := func(n int) time.Duration { return time.Duration(n)*time.Hour + time.Minute }
	for what, c := range map[string]struct {
		sessions []string
		keep     journal.Retention
		done     string
		left     string // the newest first
	}{
		"by age":                 {[]string{"a 1", "b 2", "c 3"}, journal.Retention{Age: hours(1)}, "b, c", "a"},
		"nothing is so old":      {[]string{"a 1", "b 2"}, journal.Retention{Age: hours(2)}, "", "a b"},
		"by count":               {[]string{"a 3", "b 1", "c 2"}, journal.Retention{Count: 2}, "a", "b c"},
		"more than there are":    {[]string{"a 3", "b 1"}, journal.Retention{Count: 5}, "", "b a"},
		"either is reason":       {[]string{"a 1", "b 2", "c 3", "d 4"}, journal.Retention{Age: hours(3), Count: 2}, "c, d", "a b"},
		"and so the other way":   {[]string{"a 1", "b 5", "c 6"}, journal.Retention{Age: hours(3), Count: 2}, "b, c", "a"},
		"in use":                 {[]string{"a 5*", "b 5"}, journal.Retention{Age: hours(1)}, "b, a (in use)", "a"},
		"forks first":            {[]string{"a 3", "b 2 a", "c 1 b"}, journal.Retention{Age: hours(0)}, "c, b, a", ""},
		"a parent that is newer": {[]string{"a 1", "b 2 a", "c 3 b"}, journal.Retention{Age: hours(0)}, "c, b, a", ""},
		"a fork that is kept":    {[]string{"a 3", "b 3 a", "c 0 b", "d 3 a"}, journal.Retention{Age: hours(1)}, "d, b (forked), a (forked)", "c b a"},
		"a fork that is in use":  {[]string{"a 3", "b 3 a*", "d 3"}, journal.Retention{Age: hours(1)}, "d, b (in use), a (forked)", "b a"},
		"a parent that is kept":  {[]string{"a 0", "b 3 a"}, journal.Retention{Age: hours(1)}, "b", "a"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := file(t)
			holder, j := open(t, path, journal.Options{}), open(t, path, journal.Options{})
			update := ""
			for _, s := range c.sessions {
				s, held := strings.CutSuffix(s, "*")
				id, rest, _ := strings.Cut(s, " ")
				age, parent, _ := strings.Cut(rest, " ")
				b := begin(t, holder, id, journal.About{Parent: parent})
				if !held {
					b.Release()
				}
				update += fmt.Sprintf(`UPDATE sessions SET updated = %d - 3600000000 * %s WHERE id = '%s';`, time.Now().UnixMicro(), age, id)
			}
			tamper(t, path, update)
			before, head := names(t, j), verify(t, j, int64(len(c.sessions)))
			dry := collected(t, j, c.keep, true)
			if after := verify(t, j, int64(len(c.sessions))); names(t, j) != before || after != head {
				t.Errorf("a dry run leaves %s", names(t, j))
			}
			if got := collected(t, j, c.keep, false); got != c.done || dry != got {
				t.Errorf("did %q and said before %q; want %q", got, dry, c.done)
			}
			if got := names(t, j); got != c.left {
				t.Errorf("left %q, want %q", got, c.left)
			}
			if _, err := j.Verify(context.Background(), head); err != nil {
				t.Error(err)
			}
			if again := collected(t, j, c.keep, false); strings.Count(again, "(") != strings.Count(again, ",")+min(1, len(again)) {
				t.Errorf("the second time: %q", again)
			}
		})
	}
}

func TestCollectNeedsAReason(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	begin(t, j, "s", journal.About{}).Release()
	for _, keep := range []journal.Retention{{}, {Age: -1}, {Count: -1}, {Age: time.Hour, Count: -1}} {
		if done, err := j.Collect(context.Background(), keep, false); err == nil || len(done) > 0 {
			t.Errorf("%+v: %v, %v", keep, done, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if done, err := j.Collect(ctx, journal.Retention{Age: 1}, false); !errors.Is(err, context.Canceled) || len(done) > 0 || names(t, j) != "s" {
		t.Errorf("stopped: %v, %v", done, err)
	}
}

// makeOld sets the time of the artifact with the id, or of all if it is "".
func makeOld(t testing.TB, path, id string, age time.Duration) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "artifacts", id+"*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		if err := os.Chtimes(f, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
}

// An artifact that no call names goes when it is old; one that a call names stays, and
// so does one that a call which runs may still name, here or in another process.
func TestCollectOrphans(t *testing.T) {
	path := file(t)
	s := store(t, path)
	j, other := open(t, path, journal.Options{Artifacts: s}), open(t, path, journal.Options{Artifacts: s})
	put := func(text string) artifact.Artifact {
		a, err := s.Put(context.Background(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	put("an orphan")
	makeOld(t, path, "", 3*time.Hour)
	g := newGate(t, other.Executor(nil))
	g.do = func(context.Context, callgate.Call, int) (callgate.Result, error) {
		a := put("not yet named")
		makeOld(t, path, a.ID, time.Hour)
		tamper(t, path, `UPDATE calls SET claimed = claimed - 7200000000`) // it runs for two hours
		for _, dry := range []bool{true, false} {
			if got := collected(t, j, journal.Retention{Age: time.Minute}, dry); got != "an artifact" {
				t.Errorf("while its call runs: %q", got)
			}
		}
		tamper(t, path, `UPDATE calls SET claimed = claimed + 7200000000`)
		return callgate.Result{Artifact: a.Ref(), Truncated: true}, nil
	}
	g.submit(1, call("once", `{}`))
	if n := kept(t, s); n != 1 {
		t.Fatalf("%d artifacts", n)
	}
	put("another orphan")
	if got := collected(t, j, journal.Retention{Age: time.Nanosecond}, true); got != "s" {
		t.Errorf("of artifacts that are new: %q", got)
	}
	for age, want := range map[time.Duration]string{3 * time.Hour: "", time.Minute: "an artifact", 0: ""} {
		makeOld(t, path, "", 2*time.Hour)
		keep := journal.Retention{Age: age}
		if age == 0 { // says nothing of artifacts
			keep.Count = 10
		}
		if got := collected(t, j, keep, true); got != want || kept(t, s) != 2 {
			t.Errorf("older than %v: %q of %d", age, got, kept(t, s))
		}
	}
	if got := collected(t, j, journal.Retention{Age: time.Minute}, false); got != "an artifact" || kept(t, s) != 1 {
		t.Errorf("%q, %d artifacts", got, kept(t, s))
	}
	if r := records(t, j, "s")[0]; second(s.Stat(r.Artifact)) != nil {
		t.Error("the one that a call names is gone")
	}
	if got := collected(t, j, journal.Retention{Age: time.Nanosecond}, false); got != "s" || kept(t, s) != 0 {
		t.Errorf("%q, %d artifacts", got, kept(t, s))
	}
}

// A call whose process died since is no reason to stay.
func TestCollectOfADeadProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := hold(t, dir)
	j := open(t, filepath.Join(dir, "journal.db"), journal.Options{})
	keep := journal.Retention{Age: time.Nanosecond}
	for _, dry := range []bool{true, false} {
		if got := collected(t, j, keep, dry); got != "s (runs)" {
			t.Errorf("dry %t, while it lives: %q", dry, got)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, dry := range []bool{true, false} {
		if got := collected(t, j, keep, dry); got != "s" {
			t.Errorf("dry %t, when it is dead: %q", dry, got)
		}
	}
}
