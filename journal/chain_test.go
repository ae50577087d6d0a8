package journal_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate"
	"github.com/callgate/callgate/journal"
)

// five returns the file of a journal with a session (row 1) and five settled calls
// (rows 2 to 6), closed, and its head.
func five(t testing.TB) (path string, head journal.Head) {
	path = file(t)
	j := open(t, path, journal.Options{})
	g := newGate(t, j.Executor(nil))
	for turn := range 5 {
		g.submit(turn, call([]string{"once", "again", "read"}[turn%3], `{"marker":"turn`+string(rune('0'+turn))+`"}`))
	}
	head, err := j.Head(context.Background())
	if err != nil || head.Rows != 6 {
		t.Fatalf("head %v, %v", head, err)
	}
	j.Close()
	return path, head
}

// tamper runs SQL in the file behind the journal's back, and returns how many rows
// it changed.
func tamper(t testing.TB, path, query string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	res, err := db.Exec(query)
	if err != nil {
		t.Fatal(err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const none = -1

// brokenRow returns the row that Verify names.
func brokenRow(t *testing.T, j *journal.Journal, kept journal.Head) int64 {
	t.Helper()
	_, err := j.Verify(context.Background(), kept)
	if b, ok := errors.AsType[*journal.Broken](err); ok {
		return b.Row
	} else if err != nil {
		t.Errorf("an error without a row: %v", err)
	}
	return none
}

// What a change of one column does is in TestVerifyCoversEveryColumn.
func TestVerifyNamesTheRow(t *testing.T) {
	for what, c := range map[string]struct {
		sql string
		row int64
	}{
		"nothing":               {`SELECT 1`, none},
		"hash of a length":      {`UPDATE chain SET hash = zeroblob(32) WHERE seq = 3`, 3},
		"digest of a row":       {`UPDATE chain SET digest = zeroblob(32) WHERE seq = 3`, 3},
		"kind":                  {`UPDATE chain SET kind = 'turn' WHERE seq = 3`, 3},
		"a link removed":        {`DELETE FROM chain WHERE seq = 3`, 3},
		"the newest link":       {`DELETE FROM chain WHERE seq = 6`, 6},
		"row and link":          {`DELETE FROM chain WHERE seq = 6; DELETE FROM calls WHERE seq = 6`, 6},
		"a forged row":          {`INSERT INTO turns VALUES (1, 's', 0, 1, 'user', '', x'', x'', 0, '', '', 0, 0, 0, 0, 0, 7)`, 7},
		"a forged removal":      {`DELETE FROM calls WHERE seq = 3; INSERT INTO removals VALUES (1, 's', '', '[[3,3]]', 0, 7)`, 7},
		"a letter moved over":   {`UPDATE calls SET rule = 'allow_al', reason = 'l' || reason WHERE seq = 3`, 3},
		"the first row removed": {`DELETE FROM sessions WHERE seq = 1`, 1},
		"a row removed":         {`DELETE FROM calls WHERE seq = 3`, 3},
		"and the gap closed":    {`DELETE FROM calls WHERE seq = 3; UPDATE calls SET seq = seq - 1 WHERE seq > 3`, 3},
		"a row out of chain":    {`UPDATE calls SET seq = NULL WHERE seq = 3`, 3},
		"two rows exchanged":    {`UPDATE calls SET seq = 99 WHERE seq = 3; UPDATE calls SET seq = 3 WHERE seq = 4; UPDATE calls SET seq = 4 WHERE seq = 99`, 3},
		"a row before all":      {`UPDATE calls SET seq = 0 WHERE seq = 3`, 0},
		"the newest removed":    {`DELETE FROM calls WHERE seq >= 4`, 4},
		"all removed":           {`DELETE FROM calls`, 2},
	} {
		t.Run(what, func(t *testing.T) {
			path, head := five(t)
			tamper(t, path, c.sql)
			j := open(t, path, journal.Options{})
			if got := brokenRow(t, j, head); got != c.row {
				t.Errorf("row %d is named, want %d", got, c.row)
			}
		})
	}
}

// A chain that was made anew holds in itself; the head that was kept says that it
// is not the one.
func TestVerifyAgainstAKeptHead(t *testing.T) {
	path, _ := five(t)
	other, head := five(t)
	j := open(t, path, journal.Options{})
	if got := brokenRow(t, j, journal.Head{}); got != none {
		t.Errorf("without a kept head row %d is named", got)
	}
	if got := brokenRow(t, j, head); got != 6 {
		t.Errorf("row %d is named, want 6", got)
	}
	j = open(t, other, journal.Options{})
	newGate(t, j.Executor(nil)).submit(9, call("once", `{}`))
	if now, err := j.Verify(context.Background(), head); err != nil || now.Head.Rows != 7 {
		t.Errorf("a chain that has grown since: %v, %v", now, err)
	}
}

// One byte of the file, changed on disk.
func TestChangedByte(t *testing.T) {
	path, head := five(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("turn3")); n < 2 { // arguments and result
		t.Fatalf("found %d times in the file", n)
	}
	data[bytes.Index(data, []byte("turn3"))] = 'T'
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, path, journal.Options{})
	if got := brokenRow(t, j, head); got != 5 {
		t.Errorf("row %d is named, want 5, the row of turn 3", got)
	}
}

func TestParseHead(t *testing.T) {
	_, head := five(t)
	if got, err := journal.ParseHead(head.String()); err != nil || got != head {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "5", "5:", "-1:" + strings.Repeat("0", 64), "05" + head.String()[1:], head.String() + "0", strings.ToUpper(head.String()), "x" + head.String()} {
		if h, err := journal.ParseHead(s); err == nil {
			t.Errorf("%q is read as %v", s, h)
		}
	}
}

// A record that contradicts itself is no answer, and the call does not run.
func TestChangedRecordIsNoAnswer(t *testing.T) {
	for _, query := range []string{
		`UPDATE calls SET result = x'78'`, `UPDATE calls SET code = 'timeout'`, `UPDATE calls SET result = x'7b7d', state = ''`,
	} {
		path, _ := five(t)
		tamper(t, path, query)
		j := open(t, path, journal.Options{})
		g := newGate(t, j.Executor(nil))
		want(t, g.submit(0, call("once", `{"marker":"turn0"}`))[0], callgate.Internal, callgate.NotStarted, "its record cannot be read")
		if g.runs.Load() != 0 {
			t.Errorf("%s: it ran again", query)
		}
		for _, err := range j.Calls(context.Background(), "s") {
			if err == nil {
				t.Errorf("%s: a query yields the row", query)
			}
			break
		}
	}
}

// A row that is gone is called missing, not changed.
func TestVerifySaysMissing(t *testing.T) {
	path, head := five(t)
	tamper(t, path, `DELETE FROM calls WHERE seq = 2`)
	if _, err := open(t, path, journal.Options{}).Verify(context.Background(), head); err == nil || !strings.Contains(err.Error(), "row 2 of the chain: it is missing") {
		t.Errorf("got %v", err)
	}
}
