package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/journal"
)

// audit returns the lines of the whole chain.
func audit(t testing.TB, j *journal.Journal) (rows []journal.AuditRow, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := j.Audit(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	text = b.String()
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	for {
		var r journal.AuditRow
		if err := dec.Decode(&r); err == io.EOF {
			return rows, text
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
}

// linkOf is the hash of a link by the formula in the documentation.
func linkOf(t testing.TB, before []byte, r journal.AuditRow) []byte {
	t.Helper()
	digest, err := hex.DecodeString(r.Digest)
	if err != nil || len(digest) != 32 {
		t.Fatalf("digest %q of row %d", r.Digest, r.Place)
	}
	var b bytes.Buffer
	number := func(n int) { binary.Write(&b, binary.BigEndian, uint64(n)) }
	text := func(s []byte) { number(len(s)); b.Write(s) }
	b.WriteString("callgate journal 1 chain\n")
	text(before)
	number(int(r.Place))
	text([]byte(r.Kind))
	number(int(r.Ref))
	text(digest)
	sum := sha256.Sum256(b.Bytes())
	return sum[:]
}

// The chain can be checked from what is exported alone, and a head with it.
func TestAuditIsEnough(t *testing.T) {
	ctx := context.Background()
	h := newHome(t, journal.Options{})
	r := rand.New(rand.NewPCG(3, 3))
	h.story(t, r, "a", journal.About{}, 1, 6)
	h.story(t, r, "b", journal.About{}, 1, 2)
	file := export(t, h, "a")
	if err := h.Remove(ctx, "b", "old"); err != nil {
		t.Fatal(err)
	}
	bring(t, h, file, "copy")
	rows, text := audit(t, h.Journal)
	var before []byte
	kinds, gone := map[string]int{}, 0
	for i, row := range rows {
		if row.Place != int64(i+1) {
			t.Fatalf("row %d has place %d", i+1, row.Place)
		}
		if before = linkOf(t, before, row); hex.EncodeToString(before) != row.Hash {
			t.Fatalf("row %d: the hash is %s, want %x", i+1, row.Hash, before)
		}
		kinds[row.Kind]++
		if row.Gone {
			gone++
		}
	}
	head, err := h.Head(ctx)
	if err != nil || head.Rows != int64(len(rows)) || head.Hash != [32]byte(before) {
		t.Errorf("the head is %v, %v", head, err)
	}
	v, err := h.Verify(ctx)
	if err != nil || v.Removed != int64(gone) || gone == 0 || kinds["removal"] != 1 || kinds["call"] == 0 || kinds["turn"] == 0 || kinds["approval"] == 0 {
		t.Errorf("%v, %d gone, %+v, %v", kinds, gone, v, err)
	}
	for _, secret := range []string{`{\"x\"`, "user 1", "müde", "no luck"} {
		if strings.Contains(text, secret) {
			t.Errorf("it has %s", secret)
		}
	}
}

// Each kind of row says what it is about.
func TestAuditFacts(t *testing.T) {
	h := newHome(t, journal.Options{})
	h.story(t, rand.New(rand.NewPCG(3, 3)), "a", journal.About{}, 1, 6)
	begin(t, h.Journal, "fork", journal.About{Parent: "a", ParentTurn: 2}).Release()
	rows, _ := audit(t, h.Journal)
	byPlace := map[int64]journal.AuditRow{}
	approvals, sessions := 0, []string(nil)
	for _, row := range rows {
		byPlace[row.Place] = row
		switch row.Kind {
		case "turn":
			if *row.Session != "a" || *row.Turn < 1 || row.Role == "" || row.Created == nil || row.Index != nil || row.Code != nil {
				t.Errorf("%+v", row)
			}
		case "approval":
			approvals++
		case "session":
			begun := info(t, h.Journal, *row.Session)
			if row.Parent != begun.Parent || (row.ParentTurn == nil) != (begun.Parent == "") || row.ParentTurn != nil && *row.ParentTurn != int64(begun.ParentTurn) || !row.Created.Equal(begun.Created) || row.Ref != 0 {
				t.Errorf("%+v of %+v", row, begun)
			}
			sessions = append(sessions, *row.Session)
		}
	}
	for _, rec := range records(t, h.Journal, "a") {
		row := byPlace[rec.Place]
		if row.Kind != "call" || row.Ref != rec.ID || *row.Session != "a" || *row.Turn != int64(rec.Identity.Turn) || *row.Index != int64(rec.Identity.Index) || *row.Run != int64(rec.Run) ||
			row.Tool != rec.Tool || row.Effect != rec.Effect || row.Verdict != rec.Verdict || row.Rule != rec.Decision.Rule || row.By != rec.Decision.By ||
			row.State != string(rec.State) || *row.Code != string(rec.Code) || !row.Claimed.Equal(rec.Claimed) || !row.Ended.Equal(rec.Ended) {
			t.Errorf("%+v\nof %+v", row, rec)
		}
		if (row.Started == nil) != rec.Started.IsZero() || row.Started != nil && !row.Started.Equal(rec.Started) {
			t.Errorf("started %v, want %v", row.Started, rec.Started)
		}
	}
	for a, err := range h.Approvals(context.Background(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, row := range rows {
			found = found || row.Kind == "approval" && *row.Turn == int64(a.Identity.Turn) && *row.Index == int64(a.Identity.Index) && row.Tool == a.Tool && *row.Approved == a.Approved &&
				row.By == "me" && row.Rule == "r" && row.Asked.Equal(a.Asked) && row.Answered.Equal(a.Answered)
		}
		approvals--
		if !found {
			t.Errorf("no row says %+v", a)
		}
	}
	if !slices.Equal(sessions, []string{"a", "fork"}) {
		t.Errorf("sessions %q", sessions)
	}
	if approvals != 0 {
		t.Errorf("%d rows of approvals too many", approvals)
	}
}

// A chain that is not what was written is written as it is: an auditor sees that.
func TestAuditOfABrokenChain(t *testing.T) {
	path, _ := five(t)
	tamper(t, path, `DELETE FROM calls WHERE seq = 2; UPDATE chain SET hash = zeroblob(3) WHERE seq = 4; DELETE FROM chain WHERE seq = 3`) // the first is the session
	rows, _ := audit(t, open(t, path, journal.Options{}))
	if len(rows) != 5 || !rows[1].Gone || rows[0].Gone || rows[2].Place != 4 || rows[2].Hash != "000000" {
		t.Errorf("%+v", rows)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

var errDisk = errors.New("no disk")

// A destination that fails is what the error says.
func TestNowhereToWrite(t *testing.T) {
	path, _ := five(t)
	j := open(t, path, journal.Options{})
	if err := j.Audit(context.Background(), fullDisk{}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if err := j.Export(context.Background(), "s", fullDisk{}, journal.ExportOptions{}); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}
