package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/journal"
)

func turnsOf(t testing.TB, j *journal.Journal, session string) (list []journal.Turn) {
	t.Helper()
	for turn, err := range j.Turns(context.Background(), session) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, turn)
	}
	return list
}

// say appends turns "role number text".
func say(t testing.TB, s *journal.Session, turns ...string) {
	t.Helper()
	for _, line := range turns {
		var turn journal.Turn
		var text string
		if _, err := fmt.Sscan(line, &turn.Role, &turn.Number, &text); err != nil {
			t.Fatal(err)
		}
		turn.Body = []byte(text)
		if err := s.Append(&turn); err != nil {
			t.Fatal(err)
		}
	}
}

func said(t testing.TB, j *journal.Journal, session string) string {
	var list []string
	for _, turn := range turnsOf(t, j, session) {
		list = append(list, string(turn.Body))
	}
	return strings.Join(list, " ")
}

// What was appended is what is read, in the same order, over pages and restarts.
func TestTurns(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	s := begin(t, j, "s", journal.About{})
	bodies := [][]byte{nil, {}, []byte("{}"), {0, 255, '\n'}, bytes.Repeat([]byte("x"), 1<<20)}
	var want []journal.Turn
	for i := range 70 {
		turn := journal.Turn{Number: i / 2, Role: []string{"user", journal.Assistant}[i%2], Format: "f/1", Body: bodies[i%len(bodies)], Model: "m", Stop: "end",
			Input: int64(i), Output: 2, CacheRead: 3, CacheWrite: 4}
		if err := s.Append(&turn); err != nil {
			t.Fatal(err)
		}
		if turn.Session != "s" || turn.Pos != i || turn.Digest != sha256.Sum256(turn.Body) || turn.Created.IsZero() || turn.Redacted {
			t.Fatalf("filled in: %+v", turn)
		}
		want = append(want, turn)
	}
	check := func() {
		t.Helper()
		got := turnsOf(t, j, "s")
		if len(got) != len(want) {
			t.Fatalf("%d turns", len(got))
		}
		for i := range want {
			if !bytes.Equal(got[i].Body, want[i].Body) || !got[i].Created.Equal(want[i].Created) {
				t.Errorf("turn %d: %d bytes, %v", i, len(got[i].Body), got[i].Created)
			}
			got, want := got[i], want[i]
			got.Body, got.Created, want.Body, want.Created = nil, time.Time{}, nil, time.Time{}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("turn %d: %+v\nwant %+v", i, got, want)
			}
		}
	}
	check()
	if i := info(t, j, "s"); i.Turns != 35 {
		t.Errorf("%d turns of the model", i.Turns)
	}
	verify(t, j, 71)
	j.Close()
	j = open(t, path, journal.Options{})
	check()
	if s, err := j.Resume("s"); err != nil {
		t.Error(err)
	} else if turn := (journal.Turn{Number: 35, Role: "user"}); s.Append(&turn) != nil || turn.Pos != 70 {
		t.Errorf("goes on at %d", turn.Pos)
	}
	for range j.Turns(context.Background(), "s") {
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range j.Turns(ctx, "s") {
		if err == nil {
			t.Error("a query whose context has ended yields turns")
		}
	}
}

// A turn of the model is there once: the same bytes again are not added, other bytes
// are refused. What others say may be said twice.
func TestTurnAgain(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	s := begin(t, j, "s", journal.About{})
	say(t, s, "user 1 a", "assistant 1 b", "user 2 c")
	again := journal.Turn{Number: 1, Role: journal.Assistant, Body: []byte("b")}
	if err := s.Append(&again); err != nil || again.Pos != 1 || again.Created.IsZero() {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if err := s.Append(&journal.Turn{Number: 1, Role: journal.Assistant, Body: []byte("x")}); !errors.Is(err, journal.ErrOtherTurn) || !strings.Contains(err.Error(), "turn 1 of session s") {
		t.Errorf("other bytes: %v", err)
	}
	say(t, s, "user 2 c", "user 1 d")
	if got := said(t, j, "s"); got != "a b c c d" {
		t.Errorf("got %q", got)
	}
	say(t, begin(t, j, "t", journal.About{}), "assistant 1 x") // another session's number is its own
	verify(t, j, 8)
}

// A fork is the beginning of its parent and what it adds; neither sees what the
// other adds after it.
func TestForks(t *testing.T) {
	j := open(t, file(t), journal.Options{})
	a := begin(t, j, "a", journal.About{})
	say(t, a, "user 1 u1", "assistant 1 a1", "user 2 u2", "assistant 2 a2", "user 3 u3")
	b := begin(t, j, "b", journal.About{Parent: "a", ParentTurn: 2})
	say(t, b, "user 3 b3", "assistant 3 B3", "user 4 b4", "assistant 4 B4")
	say(t, a, "assistant 3 a3")
	begin(t, j, "c", journal.About{Parent: "b", ParentTurn: 3})
	early := begin(t, j, "early", journal.About{Parent: "b", ParentTurn: 1}) // before b began
	say(t, early, "user 2 e2")
	begin(t, j, "none", journal.About{Parent: "a", ParentTurn: 0})
	for session, want := range map[string]string{
		"a": "u1 a1 u2 a2 u3 a3", "b": "u1 a1 u2 a2 b3 B3 b4 B4", "c": "u1 a1 u2 a2 b3 B3", "early": "u1 a1 e2", "none": "",
	} {
		if got := said(t, j, session); got != want {
			t.Errorf("%s: %q, want %q", session, got, want)
		}
	}
	var owners []string
	for _, turn := range turnsOf(t, j, "b") {
		owners = append(owners, turn.Session)
	}
	if want := strings.Fields("a a a a b b b b"); !slices.Equal(owners, want) {
		t.Errorf("turns of %q", owners)
	}
	if i := info(t, j, "b"); i.Parent != "a" || i.ParentTurn != 2 || i.Turns != 2 {
		t.Errorf("%+v", i)
	}
	// What a fork shares is its parent's: it has one turn of each number.
	for _, role := range []string{journal.Assistant, "user"} {
		if err := b.Append(&journal.Turn{Number: 2, Role: role}); err == nil || !strings.Contains(err.Error(), "shares") {
			t.Errorf("%s's turn before the fork: %v", role, err)
		}
	}
}

// A line of forks that never ends is an error, not a hang: it can only come from a
// file that was changed.
func TestForksInACircle(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	begin(t, j, "a", journal.About{})
	begin(t, j, "b", journal.About{Parent: "a"})
	tamper(t, path, `UPDATE sessions SET parent = 'b' WHERE id = 'a'`)
	for _, err := range j.Turns(context.Background(), "a") {
		if err == nil || !strings.Contains(err.Error(), "forked more than") {
			t.Errorf("got %v", err)
		}
	}
}
