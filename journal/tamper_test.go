package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// everyKind returns a closed journal that has rows of every kind, and its head:
//
//	1 session p        5 session gone     9 session s
//	2, 3 turns of p    6 approval         10 approval
//	4 session f        7 call of gone     11 call of s
//	                   8 removal of gone  12 turn of f
func everyKind(t *testing.T) (path string, head journal.Head) {
	t.Helper()
	path = file(t)
	j := open(t, path, journal.Options{})
	say(t, begin(t, j, "p", journal.About{Workspace: "/w", Title: "a title"}), "user 1 hello", "assistant 1 well")
	f := begin(t, j, "f", journal.About{Parent: "p", ParentTurn: 1})
	g := askingGate(t, j, callgate.Answer{Approved: true, By: "ada", Message: "do"})
	for _, session := range []string{"gone", "s"} {
		g.Dispatch(context.Background(), g.cat, callgate.Turn{Session: session, Number: 1, Calls: []callgate.Call{call("once", `{}`)}})
		if session == "gone" {
			if err := j.Remove(context.Background(), "gone", "it is old"); err != nil {
				t.Fatal(err)
			}
		}
	}
	say(t, f, "user 2 go on")
	head = verify(t, j, 12)
	j.Close()
	return path, head
}

// Whatever column of whatever row is changed, the row is named; but who holds a
// session, and when it was used.
func TestVerifyCoversEveryColumn(t *testing.T) {
	path, head := everyKind(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]int64{
		"sessions.owner": none, "sessions.updated": none, // they change
		"removals.places": 5, // the first row that is gone by no right then
	}
	places := map[string]int64{"sessions": 4, "turns": 3, "approvals": 10, "calls": 11, "removals": 8, "chain": 7}
	changes := map[string]string{"INTEGER": " + 1000", "TEXT": " || 'x'", "BLOB": " || x'00'"}
	for table, columns := range tablesOf(t, path) {
		place, ok := places[table]
		if !ok {
			t.Errorf("table %s is new: no row of it is changed here", table)
			continue
		}
		for column, kind := range columns {
			change := column + changes[kind]
			if kind == "BLOB" { // or it would be a text
				change = "CAST(" + change + " AS BLOB)"
			}
			want, ok := other[table+"."+column]
			if !ok {
				want = place
			}
			t.Run(table+"."+column, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "journal.db")
				if err := os.WriteFile(path, whole, 0o600); err != nil {
					t.Fatal(err)
				}
				if n := tamper(t, path, "UPDATE "+table+" SET "+column+" = "+change+" WHERE seq = "+fmt.Sprint(place)); n != 1 {
					t.Fatalf("%d rows were changed", n)
				}
				if got := brokenRow(t, open(t, path, journal.Options{}), head); got != want {
					t.Errorf("row %d is named, want %d", got, want)
				}
			})
		}
	}
}

// tablesOf returns the columns of all tables with their types.
func tablesOf(t testing.TB, path string) map[string]map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]map[string]string{}
	for rows.Next() {
		var table, column, kind string
		if err := rows.Scan(&table, &column, &kind); err != nil {
			t.Fatal(err)
		}
		if all[table] == nil {
			all[table] = map[string]string{}
		}
		all[table][column] = kind
	}
	if err := rows.Err(); err != nil || len(all) < 6 {
		t.Fatalf("%d tables, %v", len(all), err)
	}
	return all
}

// Rows that were added, taken away or put elsewhere, among rows of all kinds.
func TestVerifyNamesTheRowOfEachKind(t *testing.T) {
	path, head := everyKind(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		sql string
		row int64
	}{
		"another parent":                {`UPDATE sessions SET parent = 's' WHERE id = 'f'`, 4},
		"no parent":                     {`UPDATE sessions SET parent = '', parent_turn = 0 WHERE id = 'f'`, 4},
		"session removed":               {`DELETE FROM sessions WHERE id = 's'`, 9},
		"turn removed":                  {`DELETE FROM turns WHERE seq = 2`, 2},
		"approval removed":              {`DELETE FROM approvals WHERE seq = 10`, 10},
		"removal removed":               {`DELETE FROM removals`, 5},
		"removal and its link":          {`DELETE FROM removals; DELETE FROM chain WHERE seq = 8`, 5},
		"an index dropped":              {`DROP INDEX calls_identity`, 0},
		"a trigger added":               {`CREATE TRIGGER t AFTER INSERT ON calls BEGIN DELETE FROM calls; END`, 0},
		"a table added":                 {`CREATE TABLE t(x)`, 0},
		"a forged session":              {`INSERT INTO sessions VALUES ('x', '', '', '', 0, '', 0, 0, 13)`, 13},
		"a session at another's place":  {`INSERT INTO sessions VALUES ('x', '', '', '', 0, '', 0, 0, 2)`, 2},
		"one at the place of a removal": {`INSERT INTO sessions VALUES ('x', '', '', '', 0, '', 0, 0, 8)`, 8},
		"several, the lowest first":     {`UPDATE turns SET seq = -1 WHERE seq = 2; UPDATE calls SET seq = -2 WHERE seq = 11; UPDATE approvals SET seq = -3 WHERE seq = 10; UPDATE removals SET seq = -1`, -3},
		"several beyond the end":        {`INSERT INTO sessions VALUES ('x', '', '', '', 0, '', 0, 0, 15); INSERT INTO turns (session, pos, number, role, format, body, digest, redacted, model, stop, input, output, cache_read, cache_write, created, seq) VALUES ('s', 0, 1, 'user', '', x'', x'', 0, '', '', 0, 0, 0, 0, 0, 14); ` + removal("[]", 13), 13},
		"a forged removal":              {`DELETE FROM calls WHERE seq = 11; ` + removal("[[11,11]]", 13), 13},
		"of all that ever is":           {`DELETE FROM calls; ` + removal("[[1,9223372036854775807]]", 13), 13},
		"of less than nothing":          {`DELETE FROM calls; ` + removal("[[-9223372036854775808,9223372036854775807],[5,-5],[]]", 13), 13},
		"which is no list":              {removal("x", 13), 13},
		"before what it names":          {`DELETE FROM calls; UPDATE removals SET places = '[[5,7],[11,11]]'`, 8},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "journal.db")
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			tamper(t, path, c.sql)
			for range 5 { // the same one each time
				if got := brokenRow(t, open(t, path, journal.Options{}), head); got != c.row {
					t.Errorf("row %d is named, want %d", got, c.row)
				}
			}
		})
	}
}

func removal(places string, seq int64) string {
	return `INSERT INTO removals (session, reason, places, removed, seq) VALUES ('x', '', '` + places + `', 0, ` + fmt.Sprint(seq) + `)`
}

// A verification that is stopped says so, at whatever moment: nothing is broken.
func TestVerifyIsStopped(t *testing.T) {
	path := file(t)
	j := open(t, path, journal.Options{})
	s := begin(t, j, "t", journal.About{})
	for i := range 200 {
		if err := s.Append(&journal.Turn{Number: i, Role: "user"}); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	verify(t, j, 201)
	whole := time.Since(start)
	stopped := 0
	for i := range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), whole*time.Duration(i)/100)
		_, err := j.Verify(ctx)
		cancel()
		if err != nil {
			stopped++
			if _, is := errors.AsType[*journal.Broken](err); is || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %d%% of the time: %v", i, err)
			}
		}
	}
	if stopped == 0 {
		t.Error("it was never stopped")
	}
}
